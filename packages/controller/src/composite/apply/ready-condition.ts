import { someOf } from "@xfn/errors";
import type { ObservedResource } from "@xfn/functionio";
import { type KubernetesObject, textAt } from "@xfn/json";
import { type Condition, conditionOf } from "../../objects/conditions.ts";
import { describeReference, referenceTo } from "../../objects/references.ts";
import { shortened } from "../../objects/shortened.ts";

/** The number of entries that a message names. It counts the others. */
const MAX_NAMED = 10;
/** The number of entries whose reasons a message gives. */
const MAX_REASONS = 3;
/** Providers quote whole API responses. */
const MAX_REASON_LENGTH = 500;

/** The conditions that explain why a resource is not ready, the cause first. */
const CAUSES: readonly string[] = ["Synced", "Ready"];

/**
 * The condition `Ready` of an XR. The message starts with the reasons of unready objects, because readers see only the
 * first 200 characters. The names of the unready entries follow.
 *
 * @param unready names of entries, sorted
 * @param resources the entries after the apply
 */
export function readyCondition(unready: readonly string[], resources: readonly ObservedResource[]): Condition {
  if (unready.length === 0) return { type: "Ready", status: "True", reason: "Available" };
  const names = `Unready resources: ${someOf(unready, MAX_NAMED)}`;
  const byName = new Map(resources.map(({ name, resource }) => [name, resource]));
  const reasons = unready.flatMap((name) => reasonOf(byName.get(name)) ?? []).slice(0, MAX_REASONS);
  return { type: "Ready", status: "False", reason: "Creating", message: [...reasons, names].join("; ") };
}

/** The condition `Ready` of an XR whose readiness a function package decides. */
export function statedReadiness(isReady: boolean): Condition {
  if (isReady) return readyCondition([], []);
  return { type: "Ready", status: "False", reason: "Creating", message: "A function says that it is not ready" };
}

/** The reason that an object gives for not being ready; undefined if it gives none. */
function reasonOf(resource: KubernetesObject | undefined): string | undefined {
  if (resource === undefined) return undefined;
  for (const type of CAUSES) {
    const condition = conditionOf(resource, type);
    const message = condition?.["status"] === "False" ? textAt(condition, "message") : undefined;
    if (message === undefined) continue;
    const reason = textAt(condition, "reason") ?? "no reason given";
    return `${describeReference(referenceTo(resource))}: ${type} is False (${reason}): ${shortened(message, MAX_REASON_LENGTH)}`;
  }
  return undefined;
}
