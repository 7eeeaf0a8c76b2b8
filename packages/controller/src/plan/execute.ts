import type { KubernetesObject } from "@xfn/json";
import { ApiError, type Client, isApiError, type LiveObject } from "@xfn/kubernetes";
import { describeReference, objectKey } from "../objects/references.ts";
import type { Action, Guard } from "./action.ts";
import { inParallel } from "./in-parallel.ts";
import { firstFailure, type Outcome, type Result } from "./outcome.ts";
import { type Plan, planInOrder } from "./plan.ts";

export interface Execution<As extends string = "own"> {
  readonly actors: Readonly<Record<As, { readonly client: Client }>>;
  readonly signal: AbortSignal;
  /**
   * Whether the server only computes the results, and stores nothing. It computes each write without the earlier ones.
   * A deletion is not sent.
   */
  readonly dryRun?: boolean | undefined;
  /** Called with each answer of the server before the next action. */
  readonly onResult?: ((action: Action<As>, result: Result) => void) | undefined;
}

/**
 * Sends the writes of a plan in order.
 *
 * @throws {unknown} an error that is not an answer of the server, such as an abort
 */
export async function execute<As extends string>(
  { stages }: Plan<As>,
  { actors, signal, dryRun, onResult }: Execution<As>,
): Promise<Outcome<As>> {
  const results = new Map<Action<As>, Result>();
  const latest = new Map<string, LiveObject>();
  const failed = new Set<string>();
  let isStopped = false;
  for (const { actions, onFailure, needs, lanes } of stages) {
    isStopped ||= needs === "no failure" && failed.size > 0;
    // The results have the order of the plan.
    for (const action of actions) results.set(action, { is: "skipped" });
    await inParallel(
      actions,
      async (action) => {
        const key = objectKey(action.on);
        if (isStopped || failed.has(key)) return;
        const result = await resultOf(action, actors[action.as].client, latest.get(key), { signal, dryRun });
        results.set(action, result);
        onResult?.(action, result);
        if (result.is === "failed") {
          failed.add(key);
          isStopped ||= onFailure === "stop";
        } else if (result.is === "done" && result.object !== undefined) latest.set(key, result.object);
      },
      lanes ?? 1,
    );
  }
  return { results, latest: (on) => latest.get(objectKey(on)) };
}

/**
 * Executes a plan in which every failure ends the reconcile.
 *
 * @throws {ApiError} the first failure
 */
export async function executeOrThrow<As extends string>(
  plan: Plan<As>,
  execution: Execution<As>,
): Promise<Outcome<As>> {
  const outcome = await execute(plan, execution);
  const failure = firstFailure(outcome);
  if (failure !== undefined) throw failure.error;
  return outcome;
}

/**
 * Executes one write with the controller's own rights.
 *
 * @param action undefined if nothing must be written
 * @returns the object as the server stored it; undefined if nothing was written or remains
 * @throws {ApiError} `NotFound` if an object to patch no longer exists
 */
export async function executeOne(
  { client }: { readonly client: Client },
  action: Action | undefined,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  if (action === undefined) return undefined;
  const execution = { actors: { own: { client } }, signal, onResult: requireFound };
  return (await executeOrThrow(planInOrder("write", [action]), execution)).latest(action.on);
}

/** Use it as `onResult` if a plan must end when an object to patch no longer exists. @throws {ApiError} `NotFound` */
export function requireFound<As extends string>(action: Action<As>, { is }: Result): void {
  if (is === "gone" && action.do === "patch")
    throw new ApiError("NotFound", `${describeReference(action.on)} no longer exists`);
}

async function resultOf<As extends string>(
  action: Action<As>,
  client: Client,
  latest: LiveObject | undefined,
  how: Pick<Execution, "dryRun" | "signal">,
): Promise<Result> {
  try {
    return { is: "done", object: await send(action, client, latest, how) };
  } catch (error) {
    // Deleting or changing a missing object has no effect. An apply creates it, unless its UID is required.
    if (isApiError(error, "NotFound") && (action.do === "delete" || action.do === "patch")) return { is: "gone" };
    if (error instanceof ApiError) return { is: "failed", error };
    throw error;
  }
}

async function send<As extends string>(
  action: Action<As>,
  client: Client,
  latest: LiveObject | undefined,
  { dryRun, signal }: Pick<Execution, "dryRun" | "signal">,
): Promise<LiveObject | undefined> {
  const { manager, on, part } = action;
  const options = { fieldManager: manager, signal, ...(part && { subresource: part }), ...(dryRun && { dryRun }) };
  switch (action.do) {
    case "apply":
      return await client.apply(guarded(action.intent, latest ?? action.seen, action.guard), {
        ...options,
        ...(action.force !== undefined && { force: action.force }),
      });
    case "create":
      return await client.create(action.object, options);
    case "update":
      return await client.update(action.object, options);
    case "patch":
      return await client.patch(on, "merge", guarded(action.body, latest ?? action.seen, action.guard), options);
    case "delete": {
      if (dryRun) return undefined;
      const { propagation: propagationPolicy } = action;
      const preconditions = preconditionsOf(latest ?? action.seen, action.guard);
      return await client.delete(on, { preconditions, signal, ...(propagationPolicy && { propagationPolicy }) });
    }
    case "confirm":
      return await confirmed(client, action.seen, signal);
  }
}

/** @throws {ApiError} `Conflict` if the object on the server has changed */
async function confirmed(client: Client, seen: LiveObject, signal: AbortSignal): Promise<LiveObject> {
  const { apiVersion, kind, metadata } = seen;
  const { name, namespace, uid, resourceVersion } = metadata;
  const reference = { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
  const live = await client.get(reference, { signal }).catch((error: unknown) => {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  });
  if (live?.metadata.uid === uid && live.metadata.resourceVersion === resourceVersion) return live;
  throw new ApiError("Conflict", `${kind} ${name} has changed since it was read`);
}

function guarded<T extends KubernetesObject>(body: T, seen: LiveObject | undefined, guard: Guard): T {
  return { ...body, metadata: { ...body.metadata, ...preconditionsOf(seen, guard) } };
}

function preconditionsOf(
  seen: LiveObject | undefined,
  guard: Guard,
): { readonly uid?: string; readonly resourceVersion?: string } {
  if (seen === undefined || guard === "none") return {};
  const { uid, resourceVersion } = seen.metadata;
  return guard === "version" ? { uid, resourceVersion } : { uid };
}
