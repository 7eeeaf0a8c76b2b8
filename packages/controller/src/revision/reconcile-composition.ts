import { CompositionError, checkComposition, documentOf } from "@xfn/composition";
import type { JsonObject, KubernetesObject } from "@xfn/functionio";
import { isApiError, type LiveObject, type Reconcile } from "@xfn/kubernetes";
import { withConditions } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { COMPOSITIONS, REVISIONS } from "../objects/kinds.ts";
import { ANNOTATION_PAUSED, LABEL_COMPOSITION_HASH, LABEL_COMPOSITION_NAME } from "../objects/labels.ts";
import { controllerOf } from "../objects/owner.ts";
import { apiVersionOf, findLive, objectAt } from "../objects/read-objects.ts";
import { adopt, isLeftOver, MANAGER } from "./adopt-revision.ts";
import { numberOf } from "./read-revision.ts";
import { compositionLabel, contentHash, hashLabel, revisionName } from "./revision-name.ts";

/** How many digits of the hash a revision's name has: seven as a rule, more when another content has the same ones. */
const NAME_DIGITS = [7, 16, 40] as const;

const API_VERSION = apiVersionOf(COMPOSITIONS);

/**
 * Keeps the revisions of compositions (seed 002; Crossplane v1.13): each content of spec and labels has one, which is never
 * changed but for its number. The one with the highest number is that of the Composition as it is now; a Composition that goes
 * back to an earlier content makes that revision the newest again. A Composition with errors has no new revision, so that
 * composites stay with the last good one, and says so in its conditions. The key is the Composition's name.
 */
export function revisionReconciler(context: Context): Reconcile {
  return async (name, signal) => {
    // Live: a revision made of an older state would become the newest, and composites would follow it for a moment.
    const composition = await findLive(context, { apiVersion: API_VERSION, kind: COMPOSITIONS.kind, name }, signal);
    if (composition === undefined || composition.metadata["deletionTimestamp"] !== undefined) return undefined;
    if (composition.metadata.annotations?.[ANNOTATION_PAUSED] === "true") return undefined;
    const problem = problemOf(composition);
    try {
      if (problem === undefined) await keepRevision(context, composition, signal);
    } catch (error) {
      const isRefusal = error instanceof NoFreeName || (isApiError(error) && error.code !== "Conflict");
      if (signal.aborted || !isRefusal) throw error;
      const refusal = { reason: "CannotKeepRevision", message: error.message } as const;
      await keepCondition(context, composition, refusal, signal);
      throw error;
    }
    await keepCondition(context, composition, problem, signal);
    return undefined;
  };
}

/** Why a Composition has no revision of what it says now. */
interface Problem {
  readonly reason: "InvalidComposition" | "CannotKeepRevision";
  readonly message: string;
}

function problemOf(composition: LiveObject): Problem | undefined {
  const { findings } = checkComposition(documentOf(composition));
  const errors = findings.filter(({ severity }) => severity === "error");
  if (errors.length === 0) return undefined;
  return { reason: "InvalidComposition", message: new CompositionError(errors).message };
}

/** Revisions of others have every name that one of this content could have. */
class NoFreeName extends Error {
  override readonly name = "NoFreeName";
}

async function keepRevision(context: Context, composition: LiveObject, signal: AbortSignal): Promise<void> {
  const { client, events } = context;
  const { name, uid } = composition.metadata;
  const labelSelector = `${LABEL_COMPOSITION_NAME}=${compositionLabel(name)}`;
  const { items } = await client.list(REVISIONS, { labelSelector, signal });
  const own = items.filter((revision) => controllerOf(revision)?.uid === uid);
  const hash = contentHash(composition);
  const same = own.find(({ metadata }) => metadata.labels?.[LABEL_COMPOSITION_HASH] === hashLabel(hash));
  const newest = Math.max(0, ...own.filter((revision) => revision !== same).map(numberOf));
  if (same === undefined) {
    const revision = await createRevision(context, composition, hash, newest + 1, signal);
    if (revision === undefined) return;
    const message = `revision ${numberOf(revision)} is ${revision.metadata.name}`;
    events.record(composition, { type: "Normal", reason: "CreateRevision", message });
  } else if (numberOf(same) <= newest) {
    // The same number has another where a leader of before was late with its create.
    await renumber(context, same, newest + 1, signal);
    const message = `revision ${newest + 1} is ${same.metadata.name} again`;
    events.record(composition, { type: "Normal", reason: "UpdateRevision", message });
  }
}

/** @returns undefined if the same revision was there already: an earlier try created it */
async function createRevision(
  context: Context,
  composition: LiveObject,
  hash: string,
  number: number,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  for (const digits of NAME_DIGITS) {
    const revision = revisionOf(composition, hash, revisionName(composition.metadata.name, hash, digits), number);
    try {
      return await context.client.create(revision, { fieldManager: MANAGER, signal });
    } catch (error) {
      if (!isApiError(error, "AlreadyExists")) throw error;
    }
    const name = revisionName(composition.metadata.name, hash, digits);
    const existing = await findLive(context, { apiVersion: API_VERSION, kind: REVISIONS.kind, name }, signal);
    const isOurs = existing !== undefined && controllerOf(existing)?.uid === composition.metadata.uid;
    if (isOurs && existing.metadata.labels?.[LABEL_COMPOSITION_HASH] === hashLabel(hash)) return undefined;
    if (existing !== undefined && isLeftOver(existing, revision, composition.metadata.name)) {
      return adopt(context, existing, revision, signal);
    }
  }
  throw new NoFreeName(
    `no name is free for a revision of the Composition ${composition.metadata.name}; delete the CompositionRevision ` +
      `${revisionName(composition.metadata.name, hash, NAME_DIGITS[0])}, which is not one of its own`,
  );
}

function revisionOf(composition: LiveObject, hash: string, name: string, number: number): KubernetesObject {
  const { metadata } = composition;
  const owner: JsonObject = {
    apiVersion: API_VERSION,
    kind: COMPOSITIONS.kind,
    name: metadata.name,
    uid: metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  return {
    apiVersion: API_VERSION,
    kind: REVISIONS.kind,
    metadata: {
      name,
      labels: {
        ...metadata.labels,
        [LABEL_COMPOSITION_NAME]: compositionLabel(metadata.name),
        [LABEL_COMPOSITION_HASH]: hashLabel(hash),
      },
      ownerReferences: [owner],
    },
    spec: { ...modernSpec(objectAt(composition, "spec")), revision: number },
  };
}

/** Seed 004 writes `from` and `to`: revisions say it in one way, for all who look at them. */
function modernSpec({ from, to, ...spec }: JsonObject): JsonObject {
  return { ...spec, ...(from !== undefined && { compositeTypeRef: from }), ...(to !== undefined && { resources: to }) };
}

async function renumber(context: Context, revision: LiveObject, number: number, signal: AbortSignal): Promise<void> {
  const { name, resourceVersion } = revision.metadata;
  const body = { metadata: { resourceVersion }, spec: { revision: number } };
  const reference = { apiVersion: API_VERSION, kind: REVISIONS.kind, name };
  await context.client.patch(reference, "merge", body, { fieldManager: MANAGER, signal });
}

async function keepCondition(
  context: Context,
  composition: LiveObject,
  problem: Problem | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { client, events } = context;
  const { conditions: current } = objectAt(composition, "status");
  const wanted =
    problem === undefined
      ? ({ type: "Synced", status: "True", reason: "ReconcileSuccess" } as const)
      : ({ type: "Synced", status: "False", ...problem } as const);
  const conditions = withConditions(current, [wanted], context.now());
  if (conditions === undefined) return;
  if (problem !== undefined) {
    const message = `no revision is made of it: ${problem.message}`;
    events.record(composition, { type: "Warning", reason: problem.reason, message });
  }
  const { name, resourceVersion } = composition.metadata;
  const reference = { apiVersion: API_VERSION, kind: COMPOSITIONS.kind, name };
  const body = { metadata: { resourceVersion }, status: { conditions } };
  await client.patch(reference, "merge", body, { subresource: "status", fieldManager: MANAGER, signal });
}
