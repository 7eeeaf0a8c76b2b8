import { checkComposition, documentOf } from "@xfn/composition";
import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, withConditions } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { COMPOSITIONS, REVISIONS } from "../objects/kinds.ts";
import { LABEL_COMPOSITION_HASH } from "../objects/labels.ts";
import { isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { isPaused } from "../objects/read-objects.ts";
import { numberOf } from "./read-revision.ts";
import { contentHash, hashLabel } from "./revision-name.ts";

/** Why the current content of a Composition has no revision. */
export interface Problem {
  readonly reason: "InvalidComposition" | "CannotKeepRevision";
  readonly message: string;
}

/** The error of a Composition; undefined if it has none. */
export function problemOf(composition: LiveObject): Problem | undefined {
  const { error } = checkComposition(documentOf(composition));
  return error && { reason: "InvalidComposition", message: error.message };
}

export function syncedCondition(problem: Problem | undefined): Condition {
  if (problem !== undefined) return { type: "Synced", status: "False", ...problem };
  return { type: "Synced", status: "True", reason: "ReconcileSuccess" };
}

/**
 * The revision with the current content of a Composition, and the highest number of the others.
 *
 * @param hash of the current content
 * @param revisions of any Compositions
 */
export function currentRevision(
  composition: LiveObject,
  hash: string,
  revisions: readonly LiveObject[],
): { same: LiveObject | undefined; newest: number } {
  const own = revisions.filter((revision) => isControlledBy(revision, composition));
  const same = own.find(({ metadata }) => metadata.labels?.[LABEL_COMPOSITION_HASH] === hashLabel(hash));
  const newest = Math.max(0, ...own.filter((revision) => revision !== same).map(numberOf));
  return { same, newest };
}

/**
 * Whether a reconcile would change nothing, as far as the caches of Compositions and revisions show. Then it needs no
 * request: the caches report every later change as an event.
 */
export function isCompositionSettled(context: Context, name: string): boolean {
  const composition = context.informers.peek(COMPOSITIONS)?.get(name);
  const revisions = context.informers.peek(REVISIONS)?.list();
  if (composition === undefined || revisions === undefined || isBeingDeleted(composition)) return false;
  if (isPaused(composition)) return true;
  const problem = problemOf(composition);
  if (withConditions(composition, [syncedCondition(problem)], context.now()) !== undefined) return false;
  if (problem !== undefined) return true;
  const { same, newest } = currentRevision(composition, contentHash(composition), revisions);
  return same !== undefined && numberOf(same) > newest;
}
