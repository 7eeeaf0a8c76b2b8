import {
  type Client,
  type EventRecorder,
  type Informers,
  isApiError,
  type LiveObject,
  type Reconcile,
} from "@xfn/kubernetes";
import { hasCondition } from "../objects/conditions.ts";
import { COMPOSITIONS, INFRASTRUCTURE_DEFINITIONS, REVISIONS, referenceOf } from "../objects/kinds.ts";
import { LABEL_COMPOSITION_NAME, labelValue, selectorText } from "../objects/labels.ts";
import { isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { executeOne } from "../plan/execute.ts";
import { checkContent, type Problem } from "./composition-state.ts";
import {
  hasHash,
  isAsPlanned,
  isOrphan,
  type PlannedRevision,
  type PlannedStatus,
  planAdoption,
  planCreate,
  planRenumber,
  planRevision,
  planStatus,
  type SeenComposition,
} from "./plan-composition.ts";
import { numberOf } from "./read-revision.ts";
import { RevisionError } from "./revision-error.ts";
import { revisionName } from "./revision-name.ts";

/** The needs of the reconciler of Compositions. */
export interface CompositionPort {
  readonly client: Client;
  readonly informers: Pick<Informers, "peek">;
  readonly events: EventRecorder;
  /** Whether `spec.rollout` of Compositions has an effect (`--enable-rollouts`). */
  readonly rollouts: boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Options of {@link revisionReconciler}. Default of `rollouts`: false. */
export type CompositionOptions = Omit<CompositionPort, "rollouts"> & { readonly rollouts?: boolean | undefined };

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
export function revisionReconciler({ rollouts = false, ...rest }: CompositionOptions): Reconcile {
  const port = { ...rest, rollouts };
  return async (name, signal) => {
    const cached = observeCached(port, name);
    if (cached !== undefined && (isPaused(cached.composition) || isAsPlanned(cached, port.now()))) return undefined;
    // Read live: a revision of a stale Composition would become the newest for a moment, and composites would follow
    // it.
    const composition = await findLive(port, referenceOf(COMPOSITIONS, name), signal);
    if (composition === undefined || isBeingDeleted(composition) || isPaused(composition)) return undefined;
    const seen = observe(port, composition, []);
    let current: LiveObject | undefined;
    let problem: Problem | undefined;
    let failure: Error | undefined;
    try {
      if (seen.check.problem === undefined) current = await ensureRevision(port, seen, signal);
    } catch (error) {
      const isRefusal = error instanceof RevisionError || (isApiError(error) && error.code !== "Conflict");
      if (signal.aborted || !isRefusal) throw error;
      failure = error;
      problem = { reason: "CannotKeepRevision", message: error.message };
    }
    await report(port, composition, planStatus(seen, current, port.now(), problem), signal);
    if (failure !== undefined) throw failure;
    return undefined;
  };
}

/** The state according to the caches, which report every later change as an event; undefined if they do not know it. */
function observeCached(port: CompositionPort, name: string): SeenComposition | undefined {
  const composition = port.informers.peek(COMPOSITIONS)?.get(name);
  const revisions = port.informers.peek(REVISIONS)?.list();
  if (composition === undefined || revisions === undefined || isBeingDeleted(composition)) return undefined;
  return observe(port, composition, revisions);
}

function observe(
  { informers }: CompositionPort,
  composition: LiveObject,
  revisions: readonly LiveObject[],
): SeenComposition {
  const definitions = informers.peek(INFRASTRUCTURE_DEFINITIONS)?.list() ?? [];
  return { composition, check: checkContent(composition), revisions, definitions };
}

/** @returns the revision of the current content; undefined if it is not known */
async function ensureRevision(
  port: CompositionPort,
  seen: SeenComposition,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  const { composition } = seen;
  const labelSelector = selectorText({ [LABEL_COMPOSITION_NAME]: labelValue(composition.metadata.name) });
  const { items: revisions } = await port.client.list(REVISIONS, { labelSelector, signal });
  const planned = planRevision({ ...seen, revisions });
  const { current, number } = planned;
  if (number === undefined) return current;
  if (current !== undefined) {
    await executeOne(port, planRenumber(current, number), signal);
    const message = `revision ${number} is ${current.metadata.name} again`;
    port.events.record(composition, { type: "Normal", reason: "UpdateRevision", message });
    return current;
  }
  const created = await createRevision(port, composition, planned, signal);
  if (created === undefined) return undefined;
  const message = `revision ${numberOf(created)} is ${created.metadata.name}`;
  port.events.record(composition, { type: "Normal", reason: "CreateRevision", message });
  return created;
}

/**
 * @returns undefined if an earlier attempt created the same revision
 * @throws {RevisionError}
 */
async function createRevision(
  port: CompositionPort,
  composition: LiveObject,
  planned: PlannedRevision,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  const { name: compositionName } = composition.metadata;
  for (const digits of NAME_DIGITS) {
    const name = revisionName(compositionName, planned.hash, digits);
    const action = planCreate(composition, planned, name, port.rollouts);
    try {
      return await executeOne(port, action, signal);
    } catch (error) {
      if (!isApiError(error, "AlreadyExists")) throw error;
    }
    const existing = await findLive(port, action.on, signal);
    if (existing === undefined) continue;
    if (hasHash(existing, planned.hash) && isControlledBy(existing, composition)) return undefined;
    if (isOrphan(existing, action.object, compositionName))
      return await executeOne(port, planAdoption(existing, action.object), signal);
  }
  throw new RevisionError(
    `no name is free for a revision of the Composition ${compositionName}; delete the CompositionRevision ` +
      `${revisionName(compositionName, planned.hash, NAME_DIGITS[0])}, which does not belong to it`,
  );
}

/** Emits an event for a problem and for warnings that are new, and writes the conditions. */
async function report(
  port: CompositionPort,
  composition: LiveObject,
  { action, conditions }: PlannedStatus,
  signal: AbortSignal,
): Promise<void> {
  if (action === undefined) return;
  for (const condition of conditions) {
    const { status, reason, message = "" } = condition;
    if (message === "" || hasCondition(composition, condition)) continue;
    const text = reason === "InvalidComposition" ? `cannot create a revision: ${message}` : message;
    const type = status === "True" ? "CompositionWarning" : reason;
    port.events.record(composition, { type: "Warning", reason: type, message: text });
  }
  await executeOne(port, action, signal);
}
