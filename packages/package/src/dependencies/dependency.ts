import { isObject, type JsonPath, type JsonValue } from "@xfn/json";
import { parseReference } from "@xfn/oci-rootfs/image-name";
import { PACKAGE_GROUP, PACKAGE_KINDS, type PackageKind, packageKindOf } from "../kind/package-kind.ts";
import { parseConstraint } from "../version/constraint.ts";
import { isDigest } from "../version/version.ts";

/** A package that another one needs. */
export interface Dependency {
  readonly kind: PackageKind;
  /** Registry and repository, without tag and digest: `xpkg.example/acme/provider-x`. */
  readonly package: string;
  /** A constraint on versions, or a digest. */
  readonly constraint: string;
}

/** An invalid entry of `spec.dependsOn`. */
export interface DependencyFault {
  readonly path: JsonPath;
  readonly problem: string;
  readonly remedy: string;
}

/** The result of {@link readDependencies}. */
export interface ReadDependencies {
  readonly dependencies: readonly Dependency[];
  readonly faults: readonly DependencyFault[];
}

/** Each dependency is a request to a registry. */
const MAX_DEPENDENCIES = 200;

/** The fields that name a package of their kind. */
const KIND_FIELDS: Readonly<Record<string, PackageKind>> = {
  configuration: "Configuration",
  provider: "Provider",
  function: "Function",
};

/** Reads `spec.dependsOn` of a package's metadata. */
export function readDependencies(value: JsonValue | undefined): ReadDependencies {
  const at: JsonPath = ["spec", "dependsOn"];
  if (value === undefined || value === null) return { dependencies: [], faults: [] };
  if (!Array.isArray(value) || value.length > MAX_DEPENDENCIES) {
    const problem = `must be a list of at most ${MAX_DEPENDENCIES} packages`;
    return { dependencies: [], faults: [{ path: at, problem, remedy: "list the packages that this one needs" }] };
  }
  const faults: DependencyFault[] = [];
  const dependencies: Dependency[] = [];
  for (const [index, entry] of value.entries()) {
    const read = readDependency(entry, (field, problem, remedy) =>
      faults.push({ path: [...at, index, ...field], problem, remedy }),
    );
    if (read !== undefined) dependencies.push(read);
  }
  return { dependencies, faults };
}

type OnFault = (field: readonly string[], problem: string, remedy: string) => void;

function readDependency(entry: JsonValue, fault: OnFault): Dependency | undefined {
  const form = "write provider, configuration or function with a package, or apiVersion, kind and package";
  if (!isObject(entry)) {
    fault([], "must be an object", form);
    return undefined;
  }
  const target = targetOf(entry, fault, form);
  const version = entry["version"];
  const isVersion = typeof version === "string" && (isDigest(version.trim()) || parseConstraint(version) !== undefined);
  if (!isVersion) {
    fault(["version"], "must be a version constraint or a digest", "write one such as >=v1.2.0, or sha256:...");
    return undefined;
  }
  if (target === undefined) return undefined;
  return { ...target, constraint: isDigest(version.trim()) ? version.trim() : version };
}

function targetOf(
  entry: Readonly<Record<string, JsonValue>>,
  fault: OnFault,
  form: string,
): Pick<Dependency, "kind" | "package"> | undefined {
  // Crossplane prefers the explicit form to the fields of kinds.
  if (["apiVersion", "kind", "package"].every((field) => typeof entry[field] === "string")) {
    const { apiVersion, kind: name, package: text } = entry;
    const kind = packageKindOf(name);
    if (typeof apiVersion !== "string" || apiVersion.split("/")[0] !== PACKAGE_GROUP) {
      fault(["apiVersion"], `must be of the group ${PACKAGE_GROUP}`, `write ${PACKAGE_GROUP}/v1`);
    } else if (kind === undefined) {
      fault(["kind"], `must be ${PACKAGE_KINDS.join(" or ")}`, "name the kind of the package");
    } else {
      return sourceIn(kind, "package", text, fault);
    }
    return undefined;
  }
  const given = Object.keys(KIND_FIELDS).filter((field) => entry[field] !== undefined && entry[field] !== null);
  const [field, second] = given;
  const kind = KIND_FIELDS[field ?? ""];
  if (field === undefined || kind === undefined || second !== undefined) {
    fault([], field === undefined ? "names no package" : `names two packages: ${given.join(" and ")}`, form);
    return undefined;
  }
  return sourceIn(kind, field, entry[field], fault);
}

function sourceIn(
  kind: PackageKind,
  field: string,
  text: JsonValue | undefined,
  fault: OnFault,
): Pick<Dependency, "kind" | "package"> | undefined {
  const source = typeof text === "string" ? packageSource(text) : undefined;
  if (source !== undefined) return { kind, package: source };
  const problem = "must be a registry and a repository, without tag and digest";
  fault([field], problem, "write one such as xpkg.crossplane.io/acme/provider-x, and the version into version");
  return undefined;
}

/** Registry and repository of a package without tag and digest; undefined for another text. */
export function packageSource(text: string): string | undefined {
  try {
    const reference = parseReference(text);
    return reference.isTagImplied ? reference.location : undefined;
  } catch {
    return undefined;
  }
}
