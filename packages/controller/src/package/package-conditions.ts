import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, conditionIn, conditionOf, isTrue } from "../objects/conditions.ts";
import { CONFIGURATION_REVISIONS, FUNCTION_REVISIONS } from "../objects/kinds.ts";

// Types and reasons of conditions are those of Crossplane.

/** Whether the program of a provider has pods. */
export const RUNTIME_ACTIVE = "RuntimeActive";

export function isActive(revision: LiveObject): boolean {
  return FUNCTION_REVISIONS.of(revision).spec.desiredState === "Active";
}

/** The number of a revision; 0 if it is not set. */
export function numberOf(revision: LiveObject): number {
  return FUNCTION_REVISIONS.of(revision).spec.revision ?? 0;
}

/** Whether the content of a revision is valid and its runtime is healthy. */
export function isHealthy(revision: LiveObject): boolean {
  return isTrue(revision, "RevisionHealthy") && (!hasRuntime(revision) || isTrue(revision, "RuntimeHealthy"));
}

/** Whether the package of a revision has a runtime. */
function hasRuntime({ kind }: LiveObject): boolean {
  return kind !== CONFIGURATION_REVISIONS.kind;
}

/** Why a revision is not healthy; undefined if it is healthy or its health is unknown. */
export function problemOf(revision: LiveObject): string | undefined {
  for (const type of ["RevisionHealthy", "RuntimeHealthy"]) {
    const condition = conditionOf(revision, type);
    if (condition?.["status"] === "False") return textAt(condition, "message") ?? textAt(condition, "reason");
  }
  return undefined;
}

/** Whether a revision skips the resolution of its dependencies. */
export function skipsDependencies(revision: LiveObject): boolean {
  return FUNCTION_REVISIONS.of(revision).spec.skipDependencyResolution === true;
}

/** A note about an installed revision: missing dependencies, after the given note. */
function noteOn(revision: LiveObject, note: string | undefined): string | undefined {
  const { foundDependencies = 0, installedDependencies = 0 } = FUNCTION_REVISIONS.of(revision).status;
  const missing = foundDependencies - installedDependencies;
  if (!(missing > 0) || skipsDependencies(revision)) return note;
  const absent =
    `dependencies of the package (${missing}) are not installed; the events of its revision say why. Correct that, or ` +
    "set spec.skipDependencyResolution";
  return note === undefined ? absent : `${note}; ${absent}`;
}

/** The condition `Installed`. @param current the revision of the package that `spec.package` names */
export function installedCondition(current: LiveObject | undefined, note?: string): Condition {
  const type = "Installed";
  if (current === undefined) return { type, status: "False", reason: "UnpackingPackage" };
  if (isActive(current))
    return { type, status: "True", reason: "ActivePackageRevision", message: noteOn(current, note) };
  const message =
    `the revision ${current.metadata.name} is inactive; set its spec.desiredState to Active, or ` +
    "spec.revisionActivationPolicy to Automatic";
  return { type, status: "False", reason: "InactivePackageRevision", message };
}

/** The condition `Healthy`. @param serving an older revision, which serves until the current one is healthy */
export function healthyCondition(current: LiveObject | undefined, serving: LiveObject | undefined): Condition {
  const type = "Healthy";
  if (current !== undefined && isHealthy(current)) {
    const { reason, message } = conditionIn(conditionOf(current, RUNTIME_ACTIVE) ?? {}) ?? {};
    if (reason === "AwaitingActivation") return { type, status: "True", reason, message };
    return { type, status: "True", reason: "HealthyPackageRevision" };
  }
  const problem = current && problemOf(current);
  if (problem === undefined) return { type, status: "Unknown", reason: "UnknownPackageRevisionHealth" };
  const rest = serving === undefined ? "" : `; the revision ${serving.metadata.name} still serves`;
  const message = `the revision ${current?.metadata.name ?? ""} is not healthy: ${problem}${rest}`;
  return { type, status: "False", reason: "UnhealthyPackageRevision", message };
}

/**
 * Adds the condition `Ready`, which tools that know no packages wait for (kstatus, in Helm, Flux and kubectl wait). It
 * repeats the first condition that is not true. A provider that needs no pods is ready.
 */
export function withReady(conditions: readonly Condition[]): Condition[] {
  const first = conditions.find(({ type, status }) => status !== "True" && type !== RUNTIME_ACTIVE);
  const ready: Condition = { ...(first ?? { status: "True", reason: "Available" }), type: "Ready" };
  return [...conditions, ready];
}
