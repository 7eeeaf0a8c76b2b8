import type { Desired, Observed } from "@xfn/functionio";
import { isObject, type KubernetesObject } from "@xfn/json";
import { type CompositeResource, describe } from "../observed/observed-entries.ts";
import type { PipelineError } from "../outcome/pipeline-error.ts";
import { type FailedStep, problemLines, stepError } from "../outcome/step-error.ts";

/** Names at most ten problems; a function that gets one entry wrong usually gets them all wrong. */
const MAX_NAMED = 10;

/**
 * Checks desired state right after the step that returned it. Composed resources must have a kind and usable metadata,
 * and must be of the kind of the existing object. The desired XR must be the XR itself.
 *
 * @throws {PipelineError} `InvalidDesired`, naming the step
 */
export function checkDesired(step: FailedStep, desired: Desired, observed: Observed, problems: string[]): void {
  const existing = new Map(observed.resources?.map((entry) => [entry.name, entry.resource]));
  for (const { name, resource } of desired.resources ?? []) {
    if (resource === null) continue;
    const found = resourceProblems(resource, existing.get(name));
    problems.push(...found.map((problem) => `desired.resources ${JSON.stringify(name)}: ${problem}`));
  }
  if (problems.length > 0) throw invalidDesired(step, "its desired state cannot exist", problems);
}

/** The error of a step with these problems. @param summary the summary of the problems */
export function invalidDesired(step: FailedStep, summary: string, problems: readonly string[]): PipelineError {
  const shown = problems.slice(0, MAX_NAMED);
  if (problems.length > MAX_NAMED) shown.push(`and ${problems.length - MAX_NAMED} more`);
  return stepError(step, "InvalidDesired", problemLines(summary, shown));
}

/** The differences in identity between the desired XR and the XR. */
export function compositeProblems(wanted: KubernetesObject, composite: CompositeResource): string[] {
  const pairs: [field: string, wanted: unknown, has: unknown][] = [
    ["apiVersion", wanted.apiVersion, composite.apiVersion],
    ["kind", wanted.kind, composite.kind],
    ["metadata.name", wanted.metadata?.name, composite.metadata.name],
    ["metadata.namespace", wanted.metadata?.namespace, composite.metadata.namespace],
  ];
  return pairs
    .filter(([, value, has]) => value !== undefined && value !== "" && value !== has)
    .map(
      ([field]) =>
        `desired.composite.resource: its ${field} differs from that of the composite resource; do not change it`,
    );
}

/** The reasons why a composed resource cannot be applied. */
export function resourceProblems(resource: KubernetesObject, existing: KubernetesObject | undefined): string[] {
  const problems: string[] = [];
  for (const field of ["apiVersion", "kind"] as const) {
    const value: unknown = resource[field];
    if (!value) problems.push(`has no ${field}`);
    else if (typeof value !== "string") problems.push(`its ${field} is not a string; quote it`);
  }
  const metadata: unknown = resource.metadata ?? {};
  // A patch can set metadata to any value.
  if (!isObject(metadata)) return [...problems, "its metadata is not an object"];
  for (const field of ["name", "generateName", "namespace"]) {
    if (typeof (metadata[field] ?? "") !== "string") problems.push(`its metadata.${field} is not a string; quote it`);
  }
  for (const field of ["labels", "annotations"]) {
    if (!isObject(metadata[field] ?? {})) problems.push(`its metadata.${field} is not an object`);
  }
  const owners = metadata["ownerReferences"] ?? [];
  if (!Array.isArray(owners) || !owners.every((owner) => isObject(owner))) {
    problems.push("its metadata.ownerReferences is not a list of objects");
  }
  if (problems.length === 0 && existing !== undefined && !isSameKind(resource, existing)) {
    problems.push(
      `is a ${resource.kind} of ${groupOf(resource)}, but ${describe(existing)} of ${groupOf(existing)} exists for this ` +
        `entry; give the new object an entry of its own, and set this one's resource to null`,
    );
  }
  return problems;
}

/** The version can change, for example when a kind gets a new version. The group must not change. */
function isSameKind(a: KubernetesObject, b: KubernetesObject): boolean {
  return a.kind === b.kind && groupOf(a) === groupOf(b);
}

function groupOf(object: KubernetesObject): string {
  const [group, version] = (object.apiVersion ?? "").split("/");
  return version === undefined ? "the core group" : `group ${group}`;
}
