import { isObject, type JsonObject } from "@xfn/functionio";
import type { ParsedDocument } from "@xfn/functionio/document";
import { isPackageName } from "../package/package-yaml.ts";

/** Crossplane's kinds of packages. */
export type PackageKind = "Configuration" | "Function" | "Provider";

const META_GROUP = "meta.pkg.crossplane.io";

/**
 * Versions of each kind's metadata. Functions: v1alpha1 is of the design document "Composition Functions"; releases
 * have v1beta1 and v1.
 */
const META_VERSIONS: Readonly<Record<PackageKind, readonly string[]>> = {
  Configuration: ["v1", "v1alpha1"],
  Function: ["v1", "v1beta1", "v1alpha1"],
  Provider: ["v1", "v1alpha1"],
};

const CRDS = [
  "CustomResourceDefinition.apiextensions.k8s.io/v1",
  "CustomResourceDefinition.apiextensions.k8s.io/v1beta1",
];

/**
 * Allowed kinds besides the metadata (Crossplane xpkg specification, "package.yaml Contents", and additions of
 * Crossplane 2).
 */
const CONTENTS: Readonly<Record<PackageKind, readonly string[]>> = {
  Configuration: [
    "CompositeResourceDefinition.apiextensions.crossplane.io/v1",
    "CompositeResourceDefinition.apiextensions.crossplane.io/v2",
    "Composition.apiextensions.crossplane.io/v1",
    "CronOperation.ops.crossplane.io/v1alpha1",
    "ManagedResourceActivationPolicy.apiextensions.crossplane.io/v1alpha1",
    "Operation.ops.crossplane.io/v1alpha1",
    "WatchOperation.ops.crossplane.io/v1alpha1",
  ],
  // For the schema of a function's input.
  Function: CRDS,
  Provider: [
    ...CRDS,
    "ManagedResourceDefinition.apiextensions.crossplane.io/v1alpha1",
    "MutatingWebhookConfiguration.admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration.admissionregistration.k8s.io/v1",
  ],
};

// Masterminds/semver's constraints: comparisons joined by commas or spaces, alternatives by ||, and ranges "1.0 - 2.0".
const VERSION = String.raw`v?(?:\d+|[xX*])(?:\.(?:\d+|[xX*])){0,2}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?`;
const COMPARISON = String.raw`(?:=|==|!=|>|<|>=|=>|<=|=<|~|~>|\^)?\s*${VERSION}`;
const CONSTRAINT = new RegExp(
  String.raw`^\s*(?:${VERSION}\s+-\s+${VERSION}|${COMPARISON}(?:\s*,\s*${COMPARISON}|\s+${COMPARISON})*)\s*$`,
);
// Longer texts are refused before the expression above is evaluated.
const MAX_CONSTRAINT = 256;

/** The documents of a package, its metadata first. */
export interface CheckedPackage {
  readonly kind: PackageKind;
  readonly name: string;
  /** `v1` and the like, of the metadata. */
  readonly version: string;
  readonly documents: readonly JsonObject[];
}

/** Checks the documents of a package. Faults are lines `file:line:column: message`. */
export function checkPackage(documents: readonly ParsedDocument[]): CheckedPackage | { readonly faults: string[] } {
  const metas = documents.filter(({ value }) => groupOf(value) === META_GROUP);
  const [meta, second] = metas;
  if (meta === undefined || second !== undefined) {
    const found = metas.map((one) => at(one, [], describeKind(one.value)));
    return {
      faults: [
        `a package has exactly one crossplane.yaml, with a kind of ${META_GROUP}; this has ${metas.length}`,
        ...found,
      ],
    };
  }
  const faults: string[] = [];
  const [kind, version] = kindOf(meta, faults);
  const { name } = child(meta.value, "metadata");
  if (!isPackageName(name)) faults.push(at(meta, ["metadata", "name"], "metadata.name must be a Kubernetes name"));
  const constraint = child(child(meta.value, "spec"), "crossplane")["version"];
  if (constraint !== undefined && !isConstraint(constraint))
    faults.push(
      at(
        meta,
        ["spec", "crossplane", "version"],
        "spec.crossplane.version must be a version constraint, such as >=v1.14.0",
      ),
    );
  const others = documents.filter((document) => document !== meta);
  for (const other of others) {
    if (kind !== undefined && !CONTENTS[kind].includes(describeKind(other.value)))
      faults.push(at(other, [], `${describeKind(other.value)} cannot be in a ${kind} package`));
  }
  if (kind === undefined || faults.length > 0) return { faults };
  const objects = [meta, ...others].map(({ value }) => value as JsonObject);
  return { kind, name: name as string, version, documents: objects };
}

function kindOf(meta: ParsedDocument, faults: string[]): [PackageKind | undefined, string] {
  const { kind, apiVersion } = meta.value as JsonObject;
  const version = typeof apiVersion === "string" ? (apiVersion.split("/")[1] ?? "") : "";
  const known = Object.keys(META_VERSIONS).find((one) => one === kind) as PackageKind | undefined;
  if (known === undefined) {
    faults.push(at(meta, ["kind"], `kind must be ${Object.keys(META_VERSIONS).join(" or ")}`));
  } else if (!META_VERSIONS[known].includes(version)) {
    const versions = META_VERSIONS[known].map((one) => `${META_GROUP}/${one}`).join(" or ");
    faults.push(at(meta, ["apiVersion"], `apiVersion must be ${versions}`));
  }
  return [known, version];
}

function isConstraint(value: unknown): boolean {
  return (
    typeof value === "string" &&
    value.length <= MAX_CONSTRAINT &&
    value.split("||").every((alternative) => CONSTRAINT.test(alternative))
  );
}

/** `Kind.group/version`. */
function describeKind(value: unknown): string {
  const { kind, apiVersion } = isObject(value) ? value : {};
  if (typeof kind !== "string" || typeof apiVersion !== "string") return "a document without apiVersion and kind";
  return `${kind}.${apiVersion}`;
}

function groupOf(value: unknown): string | undefined {
  const apiVersion = isObject(value) ? value["apiVersion"] : undefined;
  return typeof apiVersion === "string" ? apiVersion.split("/")[0] : undefined;
}

function child(value: unknown, field: string): Readonly<Record<string, unknown>> {
  const found = isObject(value) ? value[field] : undefined;
  return isObject(found) ? found : {};
}

function at(document: ParsedDocument, path: readonly string[], message: string): string {
  const position = document.positionOf([...path]) ?? document.positionOf([]);
  const parts = [document.source, position?.line, position?.column];
  return `${parts.filter((part) => part !== undefined).join(":")}: ${message}`;
}
