import { isApiError, type LiveObject, type Reconcile, type ResourceKind } from "@xfn/kubernetes";
import { WATCH_OPERATIONS } from "../kinds/operations.ts";
import { type Condition, hasCondition, RECONCILE_ERROR } from "../objects/conditions.ts";
import type { OperationWatch, OperationWatches, WatchedChange } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FINALIZER_WATCH_OPERATION, finalizersOf } from "../objects/finalizers.ts";
import { referenceOf } from "../objects/kinds.ts";
import { selectorText } from "../objects/labels.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findCached, findLive, isPaused } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import { executeOne } from "../plan/execute.ts";
import type { OperationPort } from "./operation-port.ts";
import { OwnOperations } from "./own-operations.ts";
import { type Runs, runsOf, runsStatus } from "./plan-runs.ts";
import { PAUSED, SYNCED } from "./plan-status.ts";
import { planWatch } from "./plan-watch.ts";
import { createOnce, deleteAll, writeStatus } from "./write-runs.ts";

/**
 * Reconciles WatchOperations: creates an Operation for each version of the objects that they watch, and deletes old
 * ones. The key is the name.
 */
export function watchOperationReconciler(port: OperationPort, watches: OperationWatches): Reconcile {
  const own = new OwnOperations(port.access, port.now);
  return async (name, signal) => {
    const operation = await findCached(port.access, WATCH_OPERATIONS, name, signal);
    if (operation === undefined || isBeingDeleted(operation)) {
      watches.forget(name);
      if (operation !== undefined) await setFinalizer(port, operation, false, signal);
      return undefined;
    }
    const current = await setFinalizer(port, operation, true, signal);
    await new Reconciliation(port, watches, own, signal).run(current);
    return undefined;
  };
}

class Reconciliation {
  readonly #port: OperationPort;
  readonly #watches: OperationWatches;
  readonly #own: OwnOperations;
  readonly #signal: AbortSignal;

  constructor(port: OperationPort, watches: OperationWatches, own: OwnOperations, signal: AbortSignal) {
    this.#port = port;
    this.#watches = watches;
    this.#own = own;
    this.#signal = signal;
  }

  async run(operation: LiveObject): Promise<void> {
    const { spec } = WATCH_OPERATIONS.of(operation);
    const operations = this.#own.of(operation);
    const runs = runsOf(operations, spec);
    await deleteAll(this.#port, runs.collect, this.#signal);
    const kind = await this.#kindOf(operation);
    const { matchLabels, namespace } = spec.watch;
    const watch = this.#watches.watch(operation, {
      kind,
      namespace: kind.namespaced ? namespace : undefined,
      labelSelector: Object.keys(matchLabels).length === 0 ? undefined : selectorText(matchLabels),
    });
    const { problem } = watch;
    if (problem !== undefined) await this.#fail(operation, `cannot watch ${kind.kind}: ${problem}`);
    if (isPaused(operation)) {
      for (const change of watch.changes()) watch.handled(change);
      await this.#report(operation, runs, watch, [watching("False", "WatchPaused"), PAUSED]);
      return;
    }
    const left = await this.#create(operation, { runs, operations }, kind, watch);
    const conditions =
      watch.count === undefined || problem !== undefined ? [] : [watching("True", "WatchActive"), SYNCED];
    await this.#report(operation, left, watch, conditions);
  }

  async #create(
    operation: LiveObject,
    { runs, operations }: { readonly runs: Runs; readonly operations: readonly LiveObject[] },
    kind: ResourceKind,
    watch: OperationWatch,
  ): Promise<Pick<Runs, "unfinished" | "lastCreated" | "lastSuccess">> {
    const existing = new Set(operations.map(({ metadata: { name } }) => name));
    const changes = await this.#stillTrue(kind, watch);
    const plan = planWatch(operation, { runs, existing }, kind, changes);
    for (const change of plan.dropped) watch.handled(change);
    await deleteAll(this.#port, plan.replaced, this.#signal);
    const unfinished = plan.replaced.length > 0 ? [] : [...runs.unfinished];
    for (const { change, action } of plan.creations) {
      const created = await createOnce(this.#port, operation, action, this.#signal);
      watch.handled(change);
      if (created === undefined) continue;
      this.#own.created(created);
      unfinished.push(created);
    }
    const { lastCreated, lastSuccess } = runs;
    return { unfinished, lastSuccess, lastCreated: plan.creations.length > 0 ? this.#port.now() : lastCreated };
  }

  /** The changes without deletions of objects that exist: they only lost a label that the watch selects. */
  async #stillTrue(kind: ResourceKind, watch: OperationWatch): Promise<WatchedChange[]> {
    const changes: WatchedChange[] = [];
    for (const change of watch.changes()) {
      const { name, namespace, uid } = change.object.metadata;
      const reference = referenceOf(kind, name, namespace);
      const live = change.isDeleted ? await findLive(this.#port.access, reference, this.#signal) : undefined;
      if (live?.metadata.uid === uid) watch.handled(change);
      else changes.push(change);
    }
    return changes;
  }

  async #kindOf(operation: LiveObject): Promise<ResourceKind> {
    const { apiVersion = "", kind = "" } = WATCH_OPERATIONS.of(operation).spec.watch;
    try {
      return await this.#port.access.client.kind(apiVersion, kind, { signal: this.#signal });
    } catch (error) {
      if (isApiError(error, "KindNotServed")) await this.#fail(operation, `spec.watch: ${error.message}`);
      throw error;
    }
  }

  async #fail(operation: LiveObject, message: string): Promise<void> {
    const failed = watching("False", "WatchFailed", message);
    if (!hasCondition(operation, failed))
      this.#port.events.record(operation, { type: "Warning", reason: "EstablishWatched", message });
    const synced: Condition = { type: "Synced", status: "False", reason: RECONCILE_ERROR, message };
    await writeStatus(this.#port, operation, { conditions: [failed, synced], fields: {} }, this.#signal);
  }

  async #report(
    operation: LiveObject,
    runs: Pick<Runs, "unfinished" | "lastCreated" | "lastSuccess">,
    { count }: OperationWatch,
    conditions: readonly Condition[],
  ): Promise<void> {
    const fields = {
      ...runsStatus(runs, WATCH_OPERATIONS.of(operation).status),
      ...(count !== undefined && { watchingResources: count }),
    };
    await writeStatus(this.#port, operation, { conditions, fields }, this.#signal);
  }
}

/** As in Crossplane: the finalizer stays until the watch has ended. */
async function setFinalizer(
  { access }: OperationPort,
  operation: LiveObject,
  isWanted: boolean,
  signal: AbortSignal,
): Promise<LiveObject> {
  const finalizers = finalizersOf(operation);
  if (finalizers.includes(FINALIZER_WATCH_OPERATION) === isWanted) return operation;
  const others = finalizers.filter((one) => one !== FINALIZER_WATCH_OPERATION);
  const body = { metadata: { finalizers: isWanted ? [...others, FINALIZER_WATCH_OPERATION] : others } };
  const why = isWanted ? "it watches objects" : "it no longer watches objects";
  const on = referenceTo(operation);
  const action = { as: "own", on, manager: FIELD_MANAGERS.operation, why, seen: operation, guard: "version" } as const;
  return (await executeOne(access, { ...action, do: "patch", body }, signal)) ?? operation;
}

function watching(status: Condition["status"], reason: string, message?: string): Condition {
  return { type: "Watching", status, reason, message };
}
