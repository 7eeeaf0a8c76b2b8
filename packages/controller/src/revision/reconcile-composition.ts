import { type JsonObject, type KubernetesObject } from "@xfn/json";
import { isApiError, type LiveObject, type Reconcile } from "@xfn/kubernetes";
import { type Condition, hasCondition, withConditions } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { COMPOSITIONS, REVISIONS, referenceOf, typeMeta } from "../objects/kinds.ts";
import {
  ANNOTATION_ROLLOUT,
  LABEL_COMPOSITION_HASH,
  LABEL_COMPOSITION_NAME,
  labelValue,
  selectorText,
} from "../objects/labels.ts";
import { controllerReferenceTo, isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { adoptRevision, isOrphan } from "./adopt-revision.ts";
import {
  checkContent,
  compositionConditions,
  currentRevision,
  isCompositionSettled,
  type Problem,
} from "./composition-state.ts";
import { numberOf } from "./read-revision.ts";
import { RevisionError } from "./revision-error.ts";
import { contentHash, hashLabel, revisionName } from "./revision-name.ts";

/** The digits of the hash in a revision's name: seven, or more if another content has the same seven. */
const NAME_DIGITS = [7, 16, 40] as const;

/**
 * Reconciles the revisions of Compositions (Crossplane v1.13, "Composition Revisions"). The key is the Composition's
 * name.
 *
 * Each content of spec and labels has one revision, of which only the number ever changes. The highest number belongs
 * to the current content, also if the Composition returns to an earlier one. A Composition with errors gets a
 * condition and no new revision, so that composites stay with the last valid one.
 */
export function revisionReconciler(context: Context): Reconcile {
  return async (name, signal) => {
    if (isCompositionSettled(context, name)) return undefined;
    // Read live: a revision of a stale Composition would become the newest for a moment, and composites would follow
    // it.
    const composition = await findLive(context, referenceOf(COMPOSITIONS, name), signal);
    if (composition === undefined || isBeingDeleted(composition)) return undefined;
    if (isPaused(composition)) return undefined;
    const check = checkContent(composition);
    let current: LiveObject | undefined;
    try {
      if (check.problem === undefined) current = await ensureRevision(context, composition, signal);
    } catch (error) {
      const isRefusal = error instanceof RevisionError || (isApiError(error) && error.code !== "Conflict");
      if (signal.aborted || !isRefusal) throw error;
      const problem: Problem = { reason: "CannotKeepRevision", message: error.message };
      await setConditions(
        context,
        composition,
        compositionConditions(context, composition, check, undefined, problem),
        signal,
      );
      throw error;
    }
    await setConditions(context, composition, compositionConditions(context, composition, check, current), signal);
    return undefined;
  };
}

/** @returns the revision of the current content; undefined if it is not known */
async function ensureRevision(
  context: Context,
  composition: LiveObject,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  const { client, events } = context;
  const labelSelector = selectorText({ [LABEL_COMPOSITION_NAME]: labelValue(composition.metadata.name) });
  const { items } = await client.list(REVISIONS, { labelSelector, signal });
  const hash = contentHash(composition);
  const { same, newest } = currentRevision(composition, hash, items);
  if (same === undefined) {
    const revision = await createRevision(context, composition, hash, newest + 1, signal);
    if (revision === undefined) return undefined;
    const message = `revision ${numberOf(revision)} is ${revision.metadata.name}`;
    events.record(composition, { type: "Normal", reason: "CreateRevision", message });
    return revision;
  } else if (numberOf(same) <= newest) {
    // Also fixes two revisions with one number, as after a late create of an earlier leader.
    await renumber(context, same, newest + 1, signal);
    const message = `revision ${newest + 1} is ${same.metadata.name} again`;
    events.record(composition, { type: "Normal", reason: "UpdateRevision", message });
  }
  return same;
}

/**
 * @returns undefined if an earlier attempt created the same revision
 * @throws {RevisionError}
 */
async function createRevision(
  context: Context,
  composition: LiveObject,
  hash: string,
  number: number,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  const options = { fieldManager: FIELD_MANAGERS.composition, signal };
  const { name: compositionName } = composition.metadata;
  for (const digits of NAME_DIGITS) {
    const name = revisionName(compositionName, hash, digits);
    const revision = revisionOf(context, composition, hash, name, number);
    try {
      return await context.client.create(revision, options);
    } catch (error) {
      if (!isApiError(error, "AlreadyExists")) throw error;
    }
    const existing = await findLive(context, referenceOf(REVISIONS, name), signal);
    if (existing === undefined) continue;
    const hasHash = existing.metadata.labels?.[LABEL_COMPOSITION_HASH] === hashLabel(hash);
    if (hasHash && isControlledBy(existing, composition)) return undefined;
    if (isOrphan(existing, revision, compositionName)) return adoptRevision(context, existing, revision, signal);
  }
  throw new RevisionError(
    `no name is free for a revision of the Composition ${compositionName}; delete the CompositionRevision ` +
      `${revisionName(compositionName, hash, NAME_DIGITS[0])}, which does not belong to it`,
  );
}

function revisionOf(
  { rollouts = false }: Context,
  composition: LiveObject,
  hash: string,
  name: string,
  number: number,
): KubernetesObject {
  const { metadata } = composition;
  const { spec } = COMPOSITIONS.of(composition);
  // Part of the create, so that no XR sees the revision without it. The first revision has no other to fall back to.
  const isRollout = rollouts && number > 1 && spec.toJSON()["rollout"] !== undefined;
  return {
    ...typeMeta(REVISIONS),
    metadata: {
      name,
      labels: {
        ...metadata.labels,
        [LABEL_COMPOSITION_NAME]: labelValue(metadata.name),
        [LABEL_COMPOSITION_HASH]: hashLabel(hash),
      },
      ...(isRollout && { annotations: { [ANNOTATION_ROLLOUT]: "true" } }),
      ownerReferences: [controllerReferenceTo(composition)],
    },
    spec: { ...modernSpec(spec.toJSON()), revision: number },
  };
}

/** Replaces `from` and `to` (Crossplane design document "Resource Composition") by the names of v1, for all readers. */
function modernSpec({ from, to, ...spec }: JsonObject): JsonObject {
  return { ...spec, ...(from !== undefined && { compositeTypeRef: from }), ...(to !== undefined && { resources: to }) };
}

async function renumber(context: Context, revision: LiveObject, number: number, signal: AbortSignal): Promise<void> {
  const { name, resourceVersion } = revision.metadata;
  const body = { metadata: { resourceVersion }, spec: { revision: number } };
  const options = { fieldManager: FIELD_MANAGERS.composition, signal };
  await context.client.patch(referenceOf(REVISIONS, name), "merge", body, options);
}

/** Emits an event for a problem and for warnings that are new. */
async function setConditions(
  context: Context,
  composition: LiveObject,
  wanted: readonly Condition[],
  signal: AbortSignal,
): Promise<void> {
  const { client, events } = context;
  const conditions = withConditions(composition, wanted, context.now());
  if (conditions === undefined) return;
  for (const condition of wanted) {
    const { status, reason, message = "" } = condition;
    if (message === "" || hasCondition(composition, condition)) continue;
    const text = reason === "InvalidComposition" ? `cannot create a revision: ${message}` : message;
    events.record(composition, {
      type: "Warning",
      reason: status === "True" ? "CompositionWarning" : reason,
      message: text,
    });
  }
  const { name, resourceVersion } = composition.metadata;
  const body = { metadata: { resourceVersion }, status: { conditions } };
  const options = { subresource: "status", fieldManager: FIELD_MANAGERS.composition, signal } as const;
  await client.patch(referenceOf(COMPOSITIONS, name), "merge", body, options);
}
