import { LABEL_COMPOSITE } from "@xfn/composition";
import type {
  Client,
  EventRecorder,
  Informers,
  LiveObject,
  ObjectReference,
  Outcome,
  ResourceKind,
} from "@xfn/kubernetes";
import { USAGE_KINDS } from "../kinds/usages.ts";
import { type Condition, hasCondition, withConditions } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FINALIZER_USAGE, finalizersOf } from "../objects/finalizers.ts";
import { typeMeta } from "../objects/kinds.ts";
import { controllerOf, isBeingDeleted } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { describeReference, parseQueueKey, referenceTo } from "../objects/references.ts";
import { type PolledReconcile, REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { executeOrThrow } from "../plan/execute.ts";
import { isEmpty, type Plan, planInOrder } from "../plan/plan.ts";
import { type FoundResource, findResource } from "./find-resource.ts";
import { planEnd, planUnprotect, planUsage } from "./plan-usage.ts";
import { UsageError } from "./usage-error.ts";
import { indexUsages, listUsagesOf, type UsageIndex } from "./usage-index.ts";
import { referenceOfResource, specOf } from "./used-object.ts";

/** The needs of the reconcilers of usages. */
export interface UsagePort {
  readonly client: Client;
  readonly events: EventRecorder;
  readonly usages: UsageIndex;
  /** Why the webhook cannot deny deletions; undefined if it can. */
  readonly unprotected: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * The reconcilers of usages of all kinds.
 *
 * @param denies whether the API server asks the controller's webhook about deletions
 */
export function usageReconcilers(
  { client, events, informers, now }: Pick<UsagePort, "client" | "events" | "now"> & { readonly informers: Informers },
  denies: boolean,
): { readonly kind: ResourceKind; readonly reconcile: PolledReconcile }[] {
  const usages = indexUsages(informers);
  const unprotected = denies
    ? undefined
    : "deletions are not denied, because the controller has no admission webhook: start it with --admission-webhook";
  const port = { client, events, usages, unprotected, now };
  return USAGE_KINDS.map((kind) => ({ kind, reconcile: usageReconciler(port, kind) }));
}

/**
 * Reconciles usages of one kind: labels the used object, so that the API server asks the webhook about its deletion,
 * and removes the label when the usage ends. The using object owns the usage.
 */
function usageReconciler(port: UsagePort, kind: ResourceKind): PolledReconcile {
  return async (key, signal) => {
    const usage = await findLive(port, { ...typeMeta(kind), ...parseQueueKey(key) }, signal);
    if (usage === undefined) return undefined;
    if (isBeingDeleted(usage)) return await endUsage(port, usage, signal);
    await protect(port, usage, signal);
    return undefined;
  };
}

async function protect(port: UsagePort, usage: LiveObject, signal: AbortSignal): Promise<void> {
  const { of, by } = specOf(usage);
  const found: Partial<Record<"of" | "by", FoundResource>> = {};
  for (const [name, resource] of Object.entries({ of, by }) as ["of" | "by", typeof of][]) {
    if (resource.kind === undefined) continue;
    try {
      found[name] = await findResource(port.client, usage, resource, signal);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      const reason = error.code === "NotFound" ? MISSING[name] : "ResolveSelectors";
      const message = `spec.${name}: ${error.message}`;
      port.events.record(usage, { type: "Warning", reason, message });
      await setReady(port, usage, { status: "False", reason: error.code, message }, signal);
      throw error;
    }
  }
  const used = found.of?.object;
  if (used === undefined) return;
  const chosen = (["of", "by"] as const).filter((name) => found[name]?.isChosen);
  const plan = planUsage({ usage, chosen, used, using: found.by?.object });
  const current = await carryOut(port, usage, plan, signal);
  if (!isEmpty(plan))
    port.events.record(usage, { type: "Normal", reason: "UsageConfigured", message: "the object is protected" });
  const { unprotected } = port;
  const ready: Omit<Condition, "type"> =
    unprotected === undefined
      ? { status: "True", reason: "Available" }
      : { status: "False", reason: "NoWebhook", message: unprotected };
  await setReady(port, current, ready, signal);
}

/** Crossplane's reasons of events. */
const MISSING = { of: "GetUsedResource", by: "GetUsingResource" } as const;

async function endUsage(port: UsagePort, usage: LiveObject, signal: AbortSignal): Promise<Outcome | undefined> {
  if (!finalizersOf(usage).includes(FINALIZER_USAGE)) return undefined;
  const using = await awaitedBy(port, usage, signal);
  if (using !== undefined) {
    const message = `waits until ${describeReference(using)} is deleted`;
    port.events.record(usage, { type: "Normal", reason: "WaitingUsingDeleted", message });
    await setReady(port, usage, { status: "False", reason: "WaitingUsingDeleted", message }, signal);
    return { requeueAfterMs: REQUEUE_AFTER_MS.usingDeletion };
  }
  const reference = referenceOfResource(usage, specOf(usage).of);
  let used = reference && (await findLive(port, reference, signal));
  let isStillUsed = false;
  if (reference !== undefined && used !== undefined) {
    const cached = (): readonly LiveObject[] => port.usages.of(reference) ?? [];
    isStillUsed =
      (await isAnyProtecting(port, usage, cached(), signal)) ||
      (await isAnyProtecting(port, usage, await listUsagesOf(port.client, reference, signal), signal));
    if (!isStillUsed) {
      used = await carryOut(port, used, planUnprotect(usage, used), signal);
      // A usage that began meanwhile may have found the label, and so have written nothing.
      isStillUsed = await isAnyProtecting(port, usage, cached(), signal);
    }
  }
  await carryOut(port, usage, planEnd({ usage, used, isStillUsed }), signal);
  return undefined;
}

/** Whether another usage protects its object. One that is being deleted does while it waits for its using object. */
async function isAnyProtecting(
  port: UsagePort,
  usage: LiveObject,
  all: readonly LiveObject[],
  signal: AbortSignal,
): Promise<boolean> {
  const others = all.filter((one) => one.metadata.uid !== usage.metadata.uid);
  if (others.some((one) => !isBeingDeleted(one))) return true;
  for (const other of others) if ((await awaitedBy(port, other, signal)) !== undefined) return true;
  return false;
}

/** The using object for whose deletion a usage waits that is being deleted itself. */
async function awaitedBy(
  port: UsagePort,
  usage: LiveObject,
  signal: AbortSignal,
): Promise<ObjectReference | undefined> {
  const using = referenceOfResource(usage, specOf(usage).by);
  if (using === undefined || !(await isComposedUntilGone(port, usage, signal))) return undefined;
  return (await findLive(port, using, signal)) === undefined ? undefined : using;
}

/** Whether an XR composes the usage, and is being deleted or gone: then the usage outlives the using object. */
async function isComposedUntilGone(port: UsagePort, usage: LiveObject, signal: AbortSignal): Promise<boolean> {
  if (usage.metadata.labels?.[LABEL_COMPOSITE] === undefined) return false;
  const controller = controllerOf(usage);
  if (controller === undefined) return true;
  const { uid, ...reference } = controller;
  const xr = await findLive(port, { ...reference, namespace: usage.metadata.namespace }, signal);
  return xr?.metadata.uid !== uid || isBeingDeleted(xr);
}

/** @throws {ApiError} */
async function carryOut(port: UsagePort, object: LiveObject, plan: Plan, signal: AbortSignal): Promise<LiveObject> {
  const outcome = await executeOrThrow(plan, { actors: { own: port }, signal });
  return outcome.latest(referenceTo(object)) ?? object;
}

async function setReady(
  port: UsagePort,
  usage: LiveObject,
  ready: Omit<Condition, "type">,
  signal: AbortSignal,
): Promise<void> {
  const condition = { type: "Ready", ...ready };
  if (hasCondition(usage, condition)) return;
  const conditions = withConditions(usage, [condition], port.now());
  if (conditions === undefined) return;
  const on = referenceTo(usage);
  const body = { status: { conditions } };
  const common = {
    as: "own",
    on,
    manager: FIELD_MANAGERS.usage,
    why: "its condition changed",
    part: "status",
  } as const;
  const plan = planInOrder("status", [{ ...common, do: "patch", body, seen: usage, guard: "uid" }]);
  await carryOut(port, usage, plan, signal);
}
