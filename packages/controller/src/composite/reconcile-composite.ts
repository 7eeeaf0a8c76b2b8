import { type Definition, layoutOfDefinition } from "@xfn/composition/definition";
import { isApiError, type LiveObject, type ObjectReference, type Outcome, type ResourceKind } from "@xfn/kubernetes";
import { type Backoff, pauseAfter } from "@xfn/lifetime";
import { PipelineError } from "@xfn/pipeline";
import { type Actors, actorsOf } from "../account/actors.ts";
import { ComposingAccounts } from "../account/composing-accounts.ts";
import { type CompositeError, combineFailures } from "../objects/composite-error.ts";
import { type Condition, conditionOf } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { compositeKindOf } from "../objects/definition-kinds.ts";
import { hasElapsed } from "../objects/elapsed.ts";
import { referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { parseQueueKey, referenceTo } from "../objects/references.ts";
import { type PolledOutcome, type PolledReconcile, pollIntervalOf } from "../objects/requeue-after.ts";
import { selectRevision } from "../revision/select-revision.ts";
import { SelectionError } from "../revision/selection-error.ts";
import { applyRun } from "./apply/apply-run.ts";
import { writeStatus } from "./apply/composite-status.ts";
import { planRun } from "./apply/plan-run.ts";
import { PlanWriter } from "./apply/plan-writer.ts";
import { deleteComposite } from "./delete-composite.ts";
import { observeComposed } from "./observe/observe-composed.ts";
import { ReconcileReader } from "./observe/reconcile-reader.ts";
import { refuseRecursion } from "./observe/refuse-recursion.ts";
import { planPin, planSelection } from "./plan/plan-composite.ts";
import { planReuse } from "./plan/plan-reuse.ts";
import { type ComposedRun, compose } from "./run/compose.ts";
import { completedRun, isOwnEcho } from "./state/completed-run.ts";
import { type CompositeMemory, emptyMemory } from "./state/composite-memory.ts";
import {
  type CompositeCallers,
  type CompositePort,
  callersOf,
  revisionReader,
  type Subject,
} from "./state/composite-port.ts";
import { emitEvents } from "./state/emit-events.ts";
import { explainFailure, type Failure } from "./state/explain-failure.ts";
import { missingRights } from "./state/missing-rights.ts";
import { cachedInputs } from "./state/settled-composite.ts";
import { Shown } from "./state/shown.ts";

/**
 * A runner without a free slot is not a problem of an XR, and usually recovers within seconds. The XR reports it only
 * after this time: a write and an event for each refusal would add load when the load is highest.
 */
const SHOWN_REFUSAL_MS = 60_000;

/** The delay after consecutive conflicts: another writer may be just as fast. */
const CONFLICT_BACKOFF: Backoff = { firstMs: 20, longestMs: 5_000 };

/**
 * Reconciles the composite resources (XRs) of a definition. The key is `name`.
 *
 * `docs/concepts/controller.md` lists the invariants: each entry has at most one object; an object is recorded before
 * it is created and until it is deleted; a reconcile deletes only what the XR controls, and nothing after a failed run;
 * a reconcile that changes nothing writes nothing.
 */
export function compositeReconciler(context: Context, definition: Definition): PolledReconcile {
  const reconciler = new CompositeReconciler(context, definition);
  return (key, signal) => reconciler.reconcile(key, signal);
}

class CompositeReconciler {
  readonly #context: Context;
  readonly #definition: Definition;
  readonly #actors: Actors;
  readonly #accounts: ComposingAccounts;
  readonly #kind: ResourceKind;
  readonly #memories: Map<string, CompositeMemory> = new Map();
  readonly #callers: CompositeCallers;

  constructor(context: Context, definition: Definition) {
    this.#context = context;
    this.#definition = definition;
    this.#actors = actorsOf(context, definition);
    this.#accounts = new ComposingAccounts(context, definition, this.#actors.xr);
    this.#kind = compositeKindOf(definition);
    this.#callers = callersOf(context);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<PolledOutcome | undefined> {
    const { name, namespace } = parseQueueKey(key);
    const reference = referenceOf(this.#kind, name, namespace);
    const found = await this.#find(reference, signal);
    const memory = this.#memoryOf(key, found?.metadata.uid);
    if (found === undefined || memory === undefined) return undefined;
    // With an account, each reconcile checks the account's rights.
    const { own, xr } = this.#actors;
    const inputs =
      xr !== own ? undefined : await cachedInputs(this.#context, this.#definition, found, memory.settled, signal);
    const isSettled = pollIntervalOf(found) === undefined && memory.settled.has(inputs);
    if (isSettled && !memory.settled.isDue(this.#context)) return undefined;
    const postponedMs = this.#postponedMs(found, memory);
    if (postponedMs !== undefined) return { requeueAfterMs: postponedMs };
    memory.settled.set(undefined);
    memory.completed = undefined;
    memory.writes.begin();
    memory.inputs.begin(this.#context.required);
    memory.inputs.noteAccount(this.#definition.spec.serviceAccountRef);
    let isComplete = false;
    const port: CompositePort = {
      actors: { own, xr, accounts: this.#accounts, composition: xr },
      caches: this.#context.informers,
      callers: this.#callers,
      limits: this.#context,
      shown: new Shown({
        logWrite: (fields) => this.#context.log.debug({ kind: this.#kind.kind, key, ...fields }, "planned write"),
        showOnClaim: (types) => this.#showOnClaim(memory.uid, types),
      }),
      clock: { now: this.#context.now, signal },
    };
    const subject: Subject = {
      definition: this.#definition,
      layout: layoutOfDefinition(this.#definition),
      memory,
      xr: memory.writes.newest(reference, found) ?? found,
    };
    this.#context.runOrder?.began(memory.uid);
    try {
      const outcome = await reconcileComposite(port, subject);
      memory.conflicts = 0;
      isComplete = true;
      memory.refusedSince = undefined;
      const mayLoseRights = port.actors.composition !== xr;
      if (outcome !== undefined || inputs === undefined || mayLoseRights || memory.writes.isPending) return outcome;
      memory.settled.set(inputs, this.#context.now());
      return { settled: isSettled ? "again" : "first" };
    } catch (error) {
      if (!isApiError(error, "Conflict")) throw error;
      // Another writer changed the XR. The next reconcile must see that write, which a cache may not show yet.
      await new ReconcileReader(xr, memory.writes, port).readLive(reference);
      return { requeueAfterMs: pauseAfter(++memory.conflicts, CONFLICT_BACKOFF) };
    } finally {
      memory.events = emitEvents(this.#context.events, port, subject);
      memory.inputs.end(found, isComplete);
      this.#context.runOrder?.ended(memory.uid);
    }
  }

  /** The delay in milliseconds of a run that only the XR's own last reconcile has caused. */
  #postponedMs(xr: LiveObject, { uid, completed }: CompositeMemory): number | undefined {
    const { composed, runOrder } = this.#context;
    if (runOrder === undefined || completed === undefined || !isOwnEcho(completed, xr, composed)) return undefined;
    return runOrder.postponedMs(uid, completed.at);
  }

  /** Lets the claim of an XR copy conditions. As in Crossplane, a type stays on the claim once it was shown. */
  #showOnClaim(uid: string, types: readonly string[]): void {
    const { claimConditions } = this.#context;
    if (types.length > 0) claimConditions?.set(uid, new Set([...(claimConditions.get(uid) ?? []), ...types]));
  }

  async #find(reference: ObjectReference, signal: AbortSignal): Promise<LiveObject | undefined> {
    const cache = this.#context.informers.peek(this.#kind);
    if (cache === undefined) return findLive(this.#context, reference, signal);
    return cache.get(reference.name, reference.namespace);
  }

  /** The memory of the XR that now has this key. Drops the memory of a deleted XR with the same key. */
  #memoryOf(key: string, uid: string | undefined): CompositeMemory | undefined {
    const memory = this.#memories.get(key);
    if (memory !== undefined && memory.uid === uid) return memory;
    if (memory !== undefined) {
      this.#memories.delete(key);
      this.#context.composed?.watch(memory.uid, []);
      this.#context.required?.forget(memory.uid);
      this.#context.claimConditions?.delete(memory.uid);
    }
    if (uid === undefined) return undefined;
    const empty = emptyMemory(uid, this.#context.now);
    this.#memories.set(key, empty);
    return empty;
  }
}

async function reconcileComposite(port: CompositePort, subject: Subject): Promise<Outcome | undefined> {
  const { actors, clock, shown } = port;
  const { definition, memory, xr: before } = subject;
  if (isPaused(before)) {
    const paused = { type: "Synced", status: "False", reason: "ReconcilePaused" } as const;
    await writeStatus(port, subject, { conditions: [responsiveCondition(shown), paused] });
    return undefined;
  }
  let readiness: Condition | undefined;
  let failure: CompositeError | undefined;
  let ttlMs: number | undefined;
  try {
    if (isBeingDeleted(before)) return await deleteComposite(port, subject);
    await actors.xr.require(compositeKindOf(definition), before, clock.signal);
    const composed = await composeSelected(port, subject);
    const plan = await planRun(port, subject, composed);
    const { applied, published, failures, ...result } = await applyRun(port, subject, composed, plan);
    readiness = result.readiness;
    ttlMs = result.ttlMs;
    failure = combineFailures(failures);
    shown.secrets.scrubError(failure);
    const explained = failure && (await explain(port, subject, failure));
    if (explained !== undefined) shown.warn(`cannot compose resources: ${explained.message}`);
    else if (shown.hasWritten) shown.report("Successfully composed resources");
    const own = [
      responsiveCondition(shown),
      syncedCondition(explained),
      readiness,
      ...cachedCondition(shown, subject.xr),
    ];
    await writeStatus(port, subject, { desired: plan.desired, published, conditions: [...shown.conditions, ...own] });
    const { composition } = composed;
    if (failure === undefined && readiness.status === "True")
      memory.completed = await completedRun(port, { applied, before, composition, xr: subject.xr });
  } catch (error) {
    shown.secrets.scrubError(error);
    if (clock.signal.aborted || isApiError(error, "Conflict") || isShortRefusal(memory, clock.now(), error))
      throw error;
    const explained = await explain(port, subject, error);
    const isAwaited = error instanceof SelectionError && error.isAwaited;
    if (!isAwaited) shown.warn(`cannot compose resources: ${explained.message}`);
    // Report readiness even if the server rejects the function's status.
    const own = [
      responsiveCondition(shown),
      syncedCondition(explained),
      ...(readiness === undefined ? [] : [readiness]),
    ];
    await writeStatus(port, subject, { conditions: [...shown.conditions, ...own] });
    if (isAwaited) return undefined;
    throw error;
  }
  if (failure !== undefined) throw failure;
  const waits = [memory.writes.requeueAfterMs, shown.slowedMs, ttlMs].filter((ms) => ms !== undefined);
  return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
}

/**
 * Selects a revision, and composes with it. Writes only a pinned revision, and that a revision is used again.
 *
 * @throws {CompositeError | PipelineError | SelectionError | ApiError}
 */
async function composeSelected(port: CompositePort, subject: Subject): Promise<ComposedRun> {
  const { actors, clock, limits, shown } = port;
  const { definition, layout, memory, xr } = subject;
  const selected = await selectRevision(revisionReader(port), definition, xr, clock.signal);
  const { composition, changes, revision } = selected;
  await refuseRecursion(port, xr, composition.metadata.name ?? "");
  memory.inputs.noteAccount(composition.spec.serviceAccountRef);
  actors.composition = await actors.accounts.actorOf(composition, xr, clock.signal);
  const observed = await observeComposed(new ReconcileReader(actors.composition, memory.writes, port), xr, layout);
  for (const note of observed.notes) shown.warn(note);
  const { namespace: secretsNamespace } = limits;
  const selection = { composition, changes, desired: undefined, layout, memory, secretsNamespace };
  const writer = new PlanWriter(port, memory);
  subject.xr = await writer.executeOrThrow(xr, planPin({ ...selection, xr }));
  try {
    return await compose(port, subject, selected, observed);
  } catch (error) {
    // A failure of this write is harmless: the next poll of the revision also detects the use.
    await writer.executeOnce(planReuse(revision, explainFailure(error)));
    // A run that succeeds records the selection with its references, in one write.
    const recorded = await writer.execute(planSelection({ ...selection, xr: subject.xr }));
    subject.xr = recorded.latest(referenceTo(xr)) ?? subject.xr;
    throw error;
  }
}

/** Explains a failure. If an account lacks rights, the message begins with all of them. */
async function explain(port: CompositePort, subject: Subject, error: unknown): Promise<Failure> {
  const failure = explainFailure(error);
  const missing =
    failure.reason === "Forbidden" ? await missingRights(port, subject).catch(() => undefined) : undefined;
  return missing === undefined ? failure : { ...failure, message: `${missing}: ${failure.message}` };
}

function syncedCondition(failure: Failure | undefined): Condition {
  return failure === undefined
    ? { type: "Synced", status: "True", reason: "ReconcileSuccess" }
    : { type: "Synced", status: "False", ...failure };
}

/** The condition `Responsive`: false while the circuit breaker delays writes because of a fight. */
function responsiveCondition({ fights }: Shown): Condition {
  const type = "Responsive";
  if (fights.length > 0) return { type, status: "False", reason: "WatchCircuitOpen", message: fights.join("; ") };
  return { type, status: "True", reason: "WatchCircuitClosed" };
}

/** The condition `Cached`, which an XR has once composed resources were read live for lack of a watch or of space. */
function cachedCondition({ uncached, unwatched }: Shown, xr: LiveObject): Condition[] {
  const type = "Cached";
  const [lost] = [...unwatched].toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (lost !== undefined) {
    const message =
      `the controller cannot watch the kind ${lost[0]} of composed resources, so it notices their changes late, at ` +
      `polls: ${lost[1]}`;
    return [{ type, status: "False", reason: "WatchFailed", message }];
  }
  if (uncached.size === 0)
    return conditionOf(xr, type) === undefined ? [] : [{ type, status: "True", reason: "CacheAvailable" }];
  const message =
    `the objects of ${[...uncached].toSorted().join(" and ")} are too large for the controller's cache, so each ` +
    "reconcile reads those of this resource from the API server; make the objects smaller, or give the controller more memory";
  return [{ type, status: "False", reason: "CacheFull", message }];
}

/** Whether a runner has refused the run for only a short time. */
function isShortRefusal(memory: CompositeMemory, now: number, error: unknown): boolean {
  if (!(error instanceof PipelineError) || !error.undelivered || error.retryAfterMs === undefined) {
    memory.refusedSince = undefined;
    return false;
  }
  memory.refusedSince ??= now;
  return !hasElapsed(memory.refusedSince, now, SHOWN_REFUSAL_MS);
}
