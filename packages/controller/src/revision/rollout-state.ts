import { createHash } from "node:crypto";
import { type Composition, machineryOf } from "@xfn/composition";
import { type Definition, layoutOfDefinition } from "@xfn/composition/definition";
import { objectAt, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import type { RolloutPhase } from "../kinds/compositions.ts";
import { REVISIONS } from "../objects/kinds.ts";
import { ANNOTATION_ROLLOUT } from "../objects/labels.ts";
import { isControlledBy } from "../objects/owner.ts";
import { compositionOf, isNewer, numberOf } from "./read-revision.ts";

// The rollout of a CompositionRevision is in its status. The selection of a revision for an XR only reads that status,
// so all controllers select the same.

/** The number of buckets into which {@link bucketOf} sorts XRs. */
export const BUCKETS = 10_000;

/** The bucket of an XR, from 0: the same in every rollout and in every controller. */
export function bucketOf({ metadata }: LiveObject): number {
  return createHash("sha256").update(metadata.uid).digest().readUInt32BE(0) % BUCKETS;
}

/** Whether XRs use a revision only as far as its rollout lets them. */
export function isRolledOutInSteps({ metadata }: LiveObject): boolean {
  return metadata.annotations?.[ANNOTATION_ROLLOUT] === "true";
}

/**
 * The phase of a revision's rollout; undefined before its start. A revision that gets another number, because the
 * Composition returned to its content, starts over unless it was complete.
 */
export function phaseOf(revision: LiveObject): RolloutPhase | undefined {
  const { phase, revision: number } = REVISIONS.of(revision).status.rollout;
  return phase === "Complete" || number === numberOf(revision) ? phase : undefined;
}

/** Whether all XRs may use a revision. */
export function isForAll(revision: LiveObject): boolean {
  return !isRolledOutInSteps(revision) || phaseOf(revision) === "Complete";
}

/** Whether an XR is one of the first that get a revision. */
export function isInCanary(revision: LiveObject, composition: Composition, xr: LiveObject): boolean {
  const { matchLabels } = composition.spec.rollout?.canary ?? {};
  if (matchLabels === undefined) {
    return bucketOf(xr) < (REVISIONS.of(revision).status.rollout.canaryBuckets ?? 0);
  }
  const labels = xr.metadata.labels ?? {};
  return Object.entries(matchLabels).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

/** Whether an XR uses the newest revision by itself: it is neither pinned nor selects revisions by labels. */
export function followsNewest(definition: Definition, xr: LiveObject): boolean {
  const { spec } = definition;
  const wanted = machineryOf(xr, layoutOfDefinition(definition));
  const policy = textAt(wanted, "compositionUpdatePolicy") ?? spec.defaultCompositionUpdatePolicy;
  const selector = wanted["compositionRevisionSelector"] ?? spec.defaultCompositionRevisionSelector;
  return policy !== "Manual" && Object.keys(objectAt(selector, "matchLabels")).length === 0;
}

/**
 * The revision of a Composition that an XR uses: the newest if its rollout is complete or in a canary with this XR,
 * otherwise the newest that is for all. Without one, which only a user can delete, the newest.
 *
 * @param follows whether the XR can be in a canary
 */
export function rolledOutOf(
  composition: LiveObject,
  revisions: readonly LiveObject[],
  xr: LiveObject,
  follows: boolean,
): LiveObject | undefined {
  const [newest, ...older] = newestFirst(composition, revisions);
  if (newest === undefined || isForAll(newest)) return newest;
  if (follows && phaseOf(newest) === "Canary" && isInCanary(newest, compositionOf(newest), xr)) return newest;
  return older.find(isForAll) ?? newest;
}

/** The revisions that a Composition controls, the newest first. */
export function newestFirst(composition: LiveObject, revisions: readonly LiveObject[]): LiveObject[] {
  return revisions
    .filter((one) => isControlledBy(one, composition) && numberOf(one) > 0)
    .toSorted((a, b) => (isNewer(a, b) ? -1 : 1));
}
