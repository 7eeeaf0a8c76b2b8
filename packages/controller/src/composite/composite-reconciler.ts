import { type Definition, layoutOfDefinition } from "@xfn/composition/definition";
import {
  type EventRecorder,
  isApiError,
  type LiveObject,
  type ObjectReference,
  type ResourceKind,
} from "@xfn/kubernetes";
import { type Backoff, pauseAfter } from "@xfn/lifetime";
import type { BreakerLimits, RunOrder } from "../objects/context.ts";
import { compositeKindOf } from "../objects/definition-kinds.ts";
import { referenceOf } from "../objects/kinds.ts";
import type { Logger } from "../objects/logger.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { parseQueueKey } from "../objects/references.ts";
import { type PolledOutcome, type PolledReconcile, pollIntervalOf } from "../objects/requeue-after.ts";
import { reconcileComposite } from "./reconcile-composite.ts";
import { isOwnEcho } from "./state/completed-run.ts";
import { type CompositeMemory, emptyMemory } from "./state/composite-memory.ts";
import type { Subject } from "./state/composite-port.ts";
import { type ComposingOptions, type CompositeShared, portOf, sharedBy } from "./state/composite-shared.ts";
import { emitEvents } from "./state/emit-events.ts";
import type { ShownCallbacks } from "./state/shown.ts";

/** The delay after consecutive conflicts: another writer may be just as fast. */
const CONFLICT_BACKOFF: Backoff = { firstMs: 20, longestMs: 5_000 };

/** The dependencies and settings of {@link compositeReconciler}. */
export interface CompositeOptions extends ComposingOptions {
  readonly events: EventRecorder;
  readonly log: Logger;
  /**
   * The types of conditions that functions also show on the claim, by the UID of the XR. After a restart, the next
   * reconcile of an XR restores them.
   */
  readonly claimConditions?: Map<string, ReadonlySet<string>> | undefined;
  /** Called when the circuit breaker of an XR of this kind opens or closes. */
  readonly onCircuit?: ((kind: ResourceKind, isOpen: boolean) => void) | undefined;
  /** Postpones runs of XRs for which no caller waits. Absent: each run begins at once. */
  readonly runOrder?: RunOrder | undefined;
  /** The time between two reconciles of an unchanged object, in milliseconds (`--poll-interval`). */
  readonly pollIntervalMs: number;
  /** When repeated writes of a composed resource are slowed. Absent: the defaults of the flags. */
  readonly breaker?: BreakerLimits | undefined;
}

/**
 * Reconciles the composite resources (XRs) of a definition. The key is `name`.
 *
 * `docs/concepts/controller.md` lists the invariants: each entry has at most one object; an object is recorded before
 * it is created and until it is deleted; a reconcile deletes only what the XR controls, and nothing after a failed run;
 * a reconcile that changes nothing writes nothing.
 */
export function compositeReconciler(options: CompositeOptions, definition: Definition): PolledReconcile {
  const reconciler = new CompositeReconciler(options, definition);
  return (key, signal) => reconciler.reconcile(key, signal);
}

class CompositeReconciler {
  readonly #options: CompositeOptions;
  readonly #definition: Definition;
  readonly #shared: CompositeShared;
  readonly #kind: ResourceKind;
  readonly #memories: Map<string, CompositeMemory> = new Map();

  constructor(options: CompositeOptions, definition: Definition) {
    this.#options = options;
    this.#definition = definition;
    this.#shared = sharedBy(options, definition);
    this.#kind = compositeKindOf(definition);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<PolledOutcome | undefined> {
    const { name, namespace } = parseQueueKey(key);
    const reference = referenceOf(this.#kind, name, namespace);
    const found = await this.#find(reference, signal);
    const memory = this.#memoryOf(key, found?.metadata.uid);
    if (found === undefined || memory === undefined) return undefined;
    const { own, xr } = this.#shared.actors;
    const isSettled =
      pollIntervalOf(found) === undefined &&
      (await memory.settled.isUnchanged(found, own.composed, () => this.#shared.select(found, signal)));
    if (isSettled && !memory.settled.isDue(this.#options.now(), this.#options.pollIntervalMs)) return undefined;
    const postponedMs = this.#postponedMs(found, memory);
    if (postponedMs !== undefined) return { requeueAfterMs: postponedMs };
    memory.settled.begin(found);
    // With an account, each reconcile checks the account's rights.
    if (xr !== own || isBeingDeleted(found)) memory.settled.sawOther();
    memory.completed = undefined;
    memory.writes.begin();
    memory.inputs.begin(own.required);
    memory.inputs.noteAccount(this.#definition.spec.serviceAccountRef);
    let isComplete = false;
    const callbacks: ShownCallbacks = {
      logWrite: (fields) => this.#options.log.debug({ kind: this.#kind.kind, key, ...fields }, "planned write"),
      showOnClaim: (types) => this.#showOnClaim(memory.uid, types),
    };
    const port = portOf(this.#shared, memory, callbacks, signal);
    const subject: Subject = {
      definition: this.#definition,
      layout: layoutOfDefinition(this.#definition),
      memory,
      xr: memory.writes.newest(reference, found) ?? found,
    };
    this.#options.runOrder?.began(memory.uid);
    try {
      const outcome = await reconcileComposite(port, subject);
      memory.conflicts = 0;
      isComplete = true;
      this.#noteCircuit(memory, port.shown.fights.length > 0);
      memory.refusedSince = undefined;
      if (outcome !== undefined || memory.writes.isPending || !memory.settled.settle(this.#options.now()))
        return outcome;
      return { settled: isSettled ? "again" : "first" };
    } catch (error) {
      if (!isApiError(error, "Conflict")) throw error;
      // Another writer changed the XR. The next reconcile must see that write, which a cache may not show yet.
      await port.actors.reader("xr").readLive(reference);
      return { requeueAfterMs: pauseAfter(++memory.conflicts, CONFLICT_BACKOFF) };
    } finally {
      memory.events = emitEvents(this.#options.events, port, subject);
      memory.inputs.end(found, isComplete);
      this.#options.runOrder?.ended(memory.uid);
    }
  }

  /** The delay in milliseconds of a run that only the XR's own last reconcile has caused. */
  #postponedMs(xr: LiveObject, { uid, completed }: CompositeMemory): number | undefined {
    const { runOrder } = this.#options;
    const { composed } = this.#shared.actors.own;
    if (runOrder === undefined || completed === undefined || !isOwnEcho(completed, xr, composed)) return undefined;
    return runOrder.postponedMs(uid, completed.at);
  }

  #noteCircuit(memory: CompositeMemory, isOpen: boolean): void {
    if (memory.isCircuitOpen !== isOpen) this.#options.onCircuit?.(this.#kind, isOpen);
    memory.isCircuitOpen = isOpen;
  }

  /** Lets the claim of an XR copy conditions. As in Crossplane, a type stays on the claim once it was shown. */
  #showOnClaim(uid: string, types: readonly string[]): void {
    const { claimConditions } = this.#options;
    if (types.length > 0) claimConditions?.set(uid, new Set([...(claimConditions.get(uid) ?? []), ...types]));
  }

  async #find(reference: ObjectReference, signal: AbortSignal): Promise<LiveObject | undefined> {
    const cache = this.#options.informers.peek(this.#kind);
    if (cache === undefined) return findLive(this.#options, reference, signal);
    return cache.get(reference.name, reference.namespace);
  }

  /** The memory of the XR that now has this key. Drops the memory of a deleted XR with the same key. */
  #memoryOf(key: string, uid: string | undefined): CompositeMemory | undefined {
    const memory = this.#memories.get(key);
    if (memory !== undefined && memory.uid === uid) return memory;
    if (memory !== undefined) {
      const { own } = this.#shared.actors;
      this.#memories.delete(key);
      own.composed.watch(memory.uid, []);
      own.required.forget(memory.uid);
      this.#options.claimConditions?.delete(memory.uid);
    }
    if (uid === undefined) return undefined;
    const empty = emptyMemory(uid, this.#options.now, this.#options.breaker);
    this.#memories.set(key, empty);
    return empty;
  }
}
