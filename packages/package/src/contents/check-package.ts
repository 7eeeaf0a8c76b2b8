import { type JsonObject, type JsonPath, type JsonValue, objectAt, textAt } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { type Dependency, readDependencies } from "../dependencies/dependency.ts";
import type { PackageErrorCode } from "../errors/package-error.ts";
import { isPackageName } from "../kind/names.ts";
import {
  CONTENTS,
  META_GROUP,
  META_VERSIONS,
  PACKAGE_KINDS,
  type PackageKind,
  packageKindOf,
} from "../kind/package-kind.ts";
import { reservedGroupOwner } from "../kind/reserved-groups.ts";
import { parseConstraint } from "../version/constraint.ts";
import type { PackageFault } from "./fault.ts";

export interface PackageContents {
  readonly kind: PackageKind;
  readonly name: string;
  /** `v1` and the like, of the metadata. */
  readonly version: string;
  readonly metadata: JsonObject;
  /** All other objects, in their order. */
  readonly objects: readonly JsonObject[];
  /** The versions of Crossplane that the package is for; undefined for all. */
  readonly crossplane: string | undefined;
  readonly dependencies: readonly Dependency[];
}

/** More objects make an API server slow. The largest providers had a thousand CRDs. */
export const MAX_OBJECTS = 10_000;

const MAX_FAULTS = 20;

/** Checks the documents of a package. */
export function checkPackage(
  documents: readonly ParsedDocument[],
): PackageContents | { readonly faults: readonly PackageFault[] } {
  if (documents.length > MAX_OBJECTS) return { faults: [tooMany(documents.length)] };
  const metas = documents.filter(({ value }) => groupOf(value) === META_GROUP);
  const [meta, second] = metas;
  if (meta === undefined || second !== undefined) return { faults: wrongCount(metas) };
  const faults: PackageFault[] = [];
  const [kind, version] = kindOf(meta, faults);
  const fields = metadataOf(meta, faults);
  const others = documents.filter((document) => document !== meta);
  if (kind !== undefined) checkObjects(kind, others, faults);
  if (kind === undefined || faults.length > 0) return { faults: faults.slice(0, MAX_FAULTS) };
  const objects = others.map(({ value }) => value as JsonObject);
  return { kind, version, metadata: meta.value as JsonObject, objects, ...fields };
}

function tooMany(count: number): PackageFault {
  const problem = `has ${count} objects, and may have ${MAX_OBJECTS}`;
  return { code: "TooLarge", path: [], problem, remedy: "split it into several packages" };
}

function wrongCount(metas: readonly ParsedDocument[]): PackageFault[] {
  const remedy = "keep one crossplane.yaml";
  const problem = `a package has exactly one crossplane.yaml, with a kind of ${META_GROUP}; this has ${metas.length}`;
  const code = metas.length === 0 ? "NoMetadata" : "SeveralMetadata";
  const found = metas
    .slice(0, MAX_FAULTS)
    .map((document): PackageFault => ({ code, document, path: [], problem: describeKind(document.value), remedy }));
  return [{ code, path: [], problem, remedy }, ...found];
}

function kindOf(meta: ParsedDocument, faults: PackageFault[]): [PackageKind | undefined, string] {
  const { kind, apiVersion } = meta.value as JsonObject;
  const version = typeof apiVersion === "string" ? (apiVersion.split("/")[1] ?? "") : "";
  const known = packageKindOf(kind);
  const add = (path: JsonPath, problem: string, remedy: string): void => {
    faults.push({ code: "UnknownKind", document: meta, path, problem, remedy });
  };
  if (known === undefined) {
    add(["kind"], `must be ${PACKAGE_KINDS.join(" or ")}`, "name the kind of the package");
  } else if (!META_VERSIONS[known].includes(version)) {
    const versions = META_VERSIONS[known].map((one) => `${META_GROUP}/${one}`).join(" or ");
    add(["apiVersion"], `must be ${versions}`, `write ${META_GROUP}/v1`);
  }
  return [known, version];
}

function metadataOf(
  meta: ParsedDocument,
  faults: PackageFault[],
): Pick<PackageContents, "name" | "crossplane" | "dependencies"> {
  const add = (path: JsonPath, problem: string, remedy: string): void => {
    faults.push({ code: "InvalidMetadata", document: meta, path, problem, remedy });
  };
  const { name } = objectAt(meta.value, "metadata");
  if (!isPackageName(name))
    add(["metadata", "name"], "must be a Kubernetes name", "use lower case letters, digits, - and .");
  const spec = objectAt(meta.value, "spec");
  const constraint = objectAt(spec, "crossplane")["version"];
  const isConstraint = typeof constraint === "string" && parseConstraint(constraint) !== undefined;
  if (constraint !== undefined && !isConstraint)
    add(["spec", "crossplane", "version"], "must be a version constraint, such as >=v1.14.0", "correct it");
  const { dependencies, faults: wrong } = readDependencies(spec["dependsOn"]);
  for (const { path, problem, remedy } of wrong) add(path, problem, remedy);
  return {
    name: typeof name === "string" ? name : "",
    crossplane: isConstraint ? constraint : undefined,
    dependencies,
  };
}

function checkObjects(kind: PackageKind, objects: readonly ParsedDocument[], faults: PackageFault[]): void {
  const seen = new Set<string>();
  for (const document of objects) {
    const add: AddFault = (code, path, problem, remedy) => {
      faults.push({ code, document, path, problem, remedy });
    };
    const { value } = document;
    const { name } = objectAt(value, "metadata");
    const what = describeKind(value);
    const identity = `${what.split("/")[0]}/${typeof name === "string" ? name : ""}`;
    if (!CONTENTS[kind].includes(what))
      add("ForbiddenObject", [], `${what} cannot be in a ${kind} package`, "remove it from the package");
    else if (!isPackageName(name))
      add("InvalidObject", ["metadata", "name"], `of the ${what} must be a Kubernetes name`, "name the object");
    else if (seen.has(identity)) add("DuplicateObject", [], `${what} ${name} is there twice`, "remove one of the two");
    else checkGroup(what, name, value, add);
    seen.add(identity);
  }
}

type AddFault = (code: PackageErrorCode, path: JsonPath, problem: string, remedy: string) => void;

/** The kinds whose objects add a kind to a group. Their names end in the group. */
const DEFINING = /^(?:CustomResource|ManagedResource|CompositeResource)Definition\./;

function checkGroup(what: string, name: string, value: JsonValue, add: AddFault): void {
  if (!DEFINING.test(what)) return;
  const { group } = objectAt(value, "spec");
  for (const one of [group, name.slice(name.indexOf(".") + 1)]) {
    if (typeof one !== "string") continue;
    const owner = reservedGroupOwner(one);
    if (owner === undefined) continue;
    const problem = `of the ${what} ${name}: the API group ${one} belongs to ${owner}`;
    add("ForbiddenObject", ["spec", "group"], problem, "define the kind in a group of your own");
    return;
  }
}

/** `Kind.group/version`. */
function describeKind(value: JsonValue): string {
  const { kind, apiVersion } = objectAt(value);
  if (typeof kind !== "string" || typeof apiVersion !== "string") return "a document without apiVersion and kind";
  return `${kind}.${apiVersion}`;
}

function groupOf(value: JsonValue): string | undefined {
  return textAt(value, "apiVersion")?.split("/")[0];
}
