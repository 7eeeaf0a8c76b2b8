import type { Definition } from "@xfn/composition/definition";
import {
  type Backoff,
  isApiError,
  type LiveObject,
  type ObjectReference,
  type Outcome,
  pauseAfter,
  type Reconcile,
  type ResourceKind,
} from "@xfn/kubernetes";
import { type CompositeError, combineFailures } from "../objects/composite-error.ts";
import type { Condition } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { compositeKindOf } from "../objects/definition-kinds.ts";
import { referenceOf } from "../objects/kinds.ts";
import { ANNOTATION_PAUSED } from "../objects/labels.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { parseQueueKey } from "../objects/references.ts";
import { composeResources } from "./compose.ts";
import { type CompositeMemory, emptyMemory } from "./composite-memory.ts";
import { writeStatus } from "./composite-status.ts";
import { deleteComposite } from "./delete-composite.ts";
import { explainFailure, type Failure } from "./explain-failure.ts";
import { PullSecretCache } from "./pull-secret-cache.ts";
import { emitEvent, type ReconcileContext, readLive } from "./reconcile-context.ts";

/** The delay after consecutive conflicts: another writer may be just as fast. */
const CONFLICT_BACKOFF: Backoff = { firstMs: 20, longestMs: 5_000 };

/**
 * Reconciles the composite resources (XRs) of a definition. The key is `name`.
 *
 * `docs/controller.md` lists what is true at every moment: each entry has at most one object; an object is recorded
 * before it is created and until it is deleted; a reconcile deletes only what the XR controls, and nothing after a
 * failed run; a reconcile that changes nothing writes nothing.
 */
export function compositeReconciler(context: Context, definition: Definition): Reconcile {
  const reconciler = new CompositeReconciler(context, definition);
  return (key, signal) => reconciler.reconcile(key, signal);
}

class CompositeReconciler {
  readonly #context: Context;
  readonly #definition: Definition;
  readonly #kind: ResourceKind;
  readonly #memories: Map<string, CompositeMemory> = new Map();
  readonly #pullSecrets: PullSecretCache = new PullSecretCache();

  constructor(context: Context, definition: Definition) {
    this.#context = context;
    this.#definition = definition;
    this.#kind = compositeKindOf(definition);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Outcome | undefined> {
    const { name, namespace } = parseQueueKey(key);
    const reference = referenceOf(this.#kind, name, namespace);
    const found = await this.#find(reference, signal);
    const memory = this.#memoryOf(key, found?.metadata.uid);
    if (found === undefined || memory === undefined) return undefined;
    memory.writes.begin();
    const context: ReconcileContext = {
      ...this.#context,
      definition: this.#definition,
      memory,
      pullSecrets: this.#pullSecrets,
      signal,
      xr: memory.writes.newest(reference, found) ?? found,
      emitted: new Set(),
      hasWritten: false,
    };
    try {
      const outcome = await reconcileComposite(context);
      memory.conflicts = 0;
      return outcome;
    } catch (error) {
      if (!isApiError(error, "Conflict")) throw error;
      // Another writer changed the XR: the next reconcile must see its write, which a cache may not show yet.
      await readLive(context, reference);
      return { requeueAfterMs: pauseAfter(++memory.conflicts, CONFLICT_BACKOFF) };
    } finally {
      memory.events = context.emitted;
    }
  }

  async #find(reference: ObjectReference, signal: AbortSignal): Promise<LiveObject | undefined> {
    const cache = this.#context.informers.peek(this.#kind);
    if (cache === undefined) return findLive(this.#context, reference, signal);
    return cache.get(reference.name, reference.namespace);
  }

  /** The memory of the XR that has this key now. That of an earlier one, which was deleted, is dropped. */
  #memoryOf(key: string, uid: string | undefined): CompositeMemory | undefined {
    const memory = this.#memories.get(key);
    if (memory !== undefined && memory.uid === uid) return memory;
    if (memory !== undefined) {
      this.#memories.delete(key);
      this.#context.composed?.watch(memory.uid, []);
    }
    if (uid === undefined) return undefined;
    const empty = emptyMemory(uid, this.#context.now);
    this.#memories.set(key, empty);
    return empty;
  }
}

async function reconcileComposite(context: ReconcileContext): Promise<Outcome | undefined> {
  if (context.xr.metadata.annotations?.[ANNOTATION_PAUSED] === "true") {
    await writeStatus(context, { conditions: [{ type: "Synced", status: "False", reason: "ReconcilePaused" }] });
    return undefined;
  }
  let readiness: Condition | undefined;
  let failure: CompositeError | undefined;
  try {
    if (isBeingDeleted(context.xr)) return await deleteComposite(context);
    const { desired, unready, published, failures } = await composeResources(context);
    readiness = readyCondition(unready);
    failure = combineFailures(failures);
    if (failure !== undefined) emitEvent(context, "Warning", `cannot compose resources: ${failure.message}`);
    else if (context.hasWritten) emitEvent(context, "Normal", "Successfully composed resources");
    const synced = syncedCondition(failure && explainFailure(failure));
    await writeStatus(context, { desired, published, conditions: [synced, readiness] });
  } catch (error) {
    if (context.signal.aborted || isApiError(error, "Conflict")) throw error;
    const explained = explainFailure(error);
    emitEvent(context, "Warning", `cannot compose resources: ${explained.message}`);
    // Report readiness even if the server rejects the function's status.
    const conditions = [syncedCondition(explained), ...(readiness === undefined ? [] : [readiness])];
    await writeStatus(context, { conditions });
    throw error;
  }
  if (failure !== undefined) throw failure;
  const { requeueAfterMs } = context.memory.writes;
  return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
}

function syncedCondition(failure: Failure | undefined): Condition {
  return failure === undefined
    ? { type: "Synced", status: "True", reason: "ReconcileSuccess" }
    : { type: "Synced", status: "False", ...failure };
}

/** A message names this many entries and counts the others. */
const MAX_NAMED = 10;

function readyCondition(unready: readonly string[]): Condition {
  if (unready.length === 0) return { type: "Ready", status: "True", reason: "Available" };
  const more = unready.length > MAX_NAMED ? `, and ${unready.length - MAX_NAMED} more` : "";
  const message = `Unready resources: ${unready.slice(0, MAX_NAMED).join(", ")}${more}`;
  return { type: "Ready", status: "False", reason: "Creating", message };
}
