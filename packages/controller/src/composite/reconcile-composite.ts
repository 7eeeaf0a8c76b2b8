import { type Definition, layoutOfDefinition } from "@xfn/composition/definition";
import { isApiError, type LiveObject, type ObjectReference, type Outcome, type ResourceKind } from "@xfn/kubernetes";
import { type Backoff, pauseAfter } from "@xfn/lifetime";
import { PipelineError } from "@xfn/pipeline";
import { type Actors, actorsOf } from "../account/actors.ts";
import { ComposingAccounts } from "../account/composing-accounts.ts";
import { RequiredSchemas } from "../functions/required-schemas.ts";
import { type CompositeError, combineFailures } from "../objects/composite-error.ts";
import { type Condition, conditionOf } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { compositeKindOf } from "../objects/definition-kinds.ts";
import { hasElapsed } from "../objects/elapsed.ts";
import { referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { parseQueueKey } from "../objects/references.ts";
import type { PolledOutcome, PolledReconcile } from "../objects/requeue-after.ts";
import { execute } from "../plan/execute.ts";
import { selectRevision } from "../revision/select-revision.ts";
import { SelectionError } from "../revision/selection-error.ts";
import { applyRun } from "./apply/apply-run.ts";
import { writeStatus } from "./apply/composite-status.ts";
import { executeOrThrow } from "./apply/execute-plan.ts";
import { type ComposedRun, compose } from "./compose.ts";
import { deleteComposite } from "./delete-composite.ts";
import { observeComposed } from "./observe/observe-composed.ts";
import { refuseRecursion } from "./observe/refuse-recursion.ts";
import { planPin } from "./plan/plan-composite.ts";
import { planReuse } from "./plan/plan-reuse.ts";
import { planRun } from "./plan-run.ts";
import { completedRun, isOwnEcho } from "./state/completed-run.ts";
import { type CompositeMemory, emptyMemory } from "./state/composite-memory.ts";
import { emitEvents } from "./state/emit-events.ts";
import { explainFailure, type Failure } from "./state/explain-failure.ts";
import { missingRights } from "./state/missing-rights.ts";
import { Notes } from "./state/notes.ts";
import { PullSecretCache } from "./state/pull-secret-cache.ts";
import { type ReconcileContext, readerOf, revisionReader } from "./state/reconcile-context.ts";
import { RunSecrets } from "./state/run-secrets.ts";
import { cachedInputs } from "./state/settled-composite.ts";

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
  readonly #pullSecrets: PullSecretCache = new PullSecretCache();
  readonly #schemas: RequiredSchemas;

  constructor(context: Context, definition: Definition) {
    this.#context = context;
    this.#definition = definition;
    this.#actors = actorsOf(context, definition);
    this.#accounts = new ComposingAccounts(context, definition, this.#actors.xr);
    this.#kind = compositeKindOf(definition);
    this.#schemas = new RequiredSchemas(context.now);
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
    const isSettled = memory.settled.has(inputs);
    if (isSettled && !memory.settled.isDue(this.#context)) return undefined;
    const postponedMs = this.#postponedMs(found, memory);
    if (postponedMs !== undefined) return { requeueAfterMs: postponedMs };
    memory.settled.set(undefined);
    memory.completed = undefined;
    memory.writes.begin();
    memory.inputs.begin(this.#context.required);
    memory.inputs.noteAccount(this.#definition.spec.serviceAccountRef);
    let isComplete = false;
    const context: ReconcileContext = {
      ...this.#context,
      actors: { own, xr, composition: xr },
      accounts: this.#accounts,
      definition: this.#definition,
      layout: layoutOfDefinition(this.#definition),
      memory,
      pullSecrets: this.#pullSecrets,
      schemas: this.#schemas,
      signal,
      xr: memory.writes.newest(reference, found) ?? found,
      notes: new Notes(),
      secrets: new RunSecrets(),
      progress: { hasWritten: false, slowedMs: undefined, uncached: new Set(), unwatched: new Map() },
      applied: [],
      fights: [],
      conditions: [],
    };
    this.#context.runOrder?.began(memory.uid);
    try {
      const outcome = await reconcileComposite(context);
      memory.conflicts = 0;
      isComplete = true;
      memory.refusedSince = undefined;
      const mayLoseRights = context.actors.composition !== xr;
      if (outcome !== undefined || inputs === undefined || mayLoseRights || memory.writes.isPending) return outcome;
      memory.settled.set(inputs, this.#context.now());
      return { settled: isSettled ? "again" : "first" };
    } catch (error) {
      if (!isApiError(error, "Conflict")) throw error;
      // Another writer changed the XR. The next reconcile must see that write, which a cache may not show yet.
      await readerOf(context, xr).readLive(reference);
      return { requeueAfterMs: pauseAfter(++memory.conflicts, CONFLICT_BACKOFF) };
    } finally {
      memory.events = emitEvents(context);
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

async function reconcileComposite(context: ReconcileContext): Promise<Outcome | undefined> {
  if (isPaused(context.xr)) {
    await writeStatus(context, { conditions: [{ type: "Synced", status: "False", reason: "ReconcilePaused" }] });
    return undefined;
  }
  const before = context.xr;
  let readiness: Condition | undefined;
  let failure: CompositeError | undefined;
  let ttlMs: number | undefined;
  try {
    if (isBeingDeleted(context.xr)) return await deleteComposite(context);
    await context.actors.xr.require(compositeKindOf(context.definition), context.xr, context.signal);
    const composed = await composeSelected(context);
    const plan = await planRun(context, composed);
    const { published, failures, ...applied } = await applyRun(context, composed, plan);
    readiness = applied.readiness;
    ttlMs = applied.ttlMs;
    failure = combineFailures(failures);
    context.secrets.scrubError(failure);
    const explained = failure && (await explain(context, failure));
    if (explained !== undefined) context.notes.warn(`cannot compose resources: ${explained.message}`);
    else if (context.progress.hasWritten) context.notes.report("Successfully composed resources");
    const synced = syncedCondition(explained);
    const conditions = [
      ...context.conditions,
      synced,
      readiness,
      ...responsiveCondition(context),
      ...cachedCondition(context),
    ];
    await writeStatus(context, { desired: plan.desired, published, conditions });
    const isComplete = failure === undefined && readiness.status === "True";
    if (isComplete) context.memory.completed = await completedRun(context, composed.composition, before);
  } catch (error) {
    context.secrets.scrubError(error);
    if (context.signal.aborted || isApiError(error, "Conflict") || isShortRefusal(context, error)) throw error;
    const explained = await explain(context, error);
    const isAwaited = error instanceof SelectionError && error.isAwaited;
    if (!isAwaited) context.notes.warn(`cannot compose resources: ${explained.message}`);
    // Report readiness even if the server rejects the function's status.
    const own = [syncedCondition(explained), ...(readiness === undefined ? [] : [readiness])];
    const conditions = [...context.conditions, ...own];
    await writeStatus(context, { conditions });
    if (isAwaited) return undefined;
    throw error;
  }
  if (failure !== undefined) throw failure;
  const waits = [context.memory.writes.requeueAfterMs, context.progress.slowedMs, ttlMs].filter(
    (ms) => ms !== undefined,
  );
  return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
}

/**
 * Selects a revision, and composes with it. Writes only a pinned revision, and that a revision is used again.
 *
 * @throws {CompositeError | PipelineError | SelectionError | ApiError}
 */
async function composeSelected(context: ReconcileContext): Promise<ComposedRun> {
  const { definition, layout, memory, namespace: secretsNamespace, notes, signal, xr } = context;
  const selected = await selectRevision(revisionReader(context), definition, xr, signal);
  const { composition, changes, revision } = selected;
  await refuseRecursion(context, composition.metadata.name ?? "");
  memory.inputs.noteAccount(composition.spec.serviceAccountRef);
  context.actors.composition = await context.accounts.actorOf(composition, xr, signal);
  const observed = await observeComposed(readerOf(context, context.actors.composition), xr, layout);
  for (const note of observed.notes) notes.warn(note);
  const { references } = observed;
  const pin = planPin({ composition, changes, references, desired: undefined, layout, memory, secretsNamespace, xr });
  await executeOrThrow(context, pin);
  try {
    return await compose(context, selected, observed);
  } catch (error) {
    // A failure of this write is harmless: the next poll of the revision also detects the use.
    await execute(planReuse(revision, explainFailure(error)), context);
    throw error;
  }
}

/** Explains a failure. If an account lacks rights, the message begins with all of them. */
async function explain(context: ReconcileContext, error: unknown): Promise<Failure> {
  const failure = explainFailure(error);
  const missing = failure.reason === "Forbidden" ? await missingRights(context).catch(() => undefined) : undefined;
  return missing === undefined ? failure : { ...failure, message: `${missing}: ${failure.message}` };
}

function syncedCondition(failure: Failure | undefined): Condition {
  return failure === undefined
    ? { type: "Synced", status: "True", reason: "ReconcileSuccess" }
    : { type: "Synced", status: "False", ...failure };
}

/** The condition `Responsive`, which an XR has once the circuit breaker has detected a fight. */
function responsiveCondition({ fights, xr }: ReconcileContext): Condition[] {
  const type = "Responsive";
  if (fights.length > 0) return [{ type, status: "False", reason: "WatchCircuitOpen", message: fights.join("; ") }];
  return conditionOf(xr, type) === undefined ? [] : [{ type, status: "True", reason: "WatchCircuitClosed" }];
}

/** The condition `Cached`, which an XR has once composed resources were read live for lack of a watch or of space. */
function cachedCondition({ progress: { uncached, unwatched }, xr }: ReconcileContext): Condition[] {
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
function isShortRefusal({ memory, now }: ReconcileContext, error: unknown): boolean {
  if (!(error instanceof PipelineError) || !error.undelivered || error.retryAfterMs === undefined) {
    memory.refusedSince = undefined;
    return false;
  }
  memory.refusedSince ??= now();
  return !hasElapsed(memory.refusedSince, now(), SHOWN_REFUSAL_MS);
}
