import type { Definition } from "@xfn/composition/definition";
import { textAt } from "@xfn/json";
import type { LiveObject, Outcome, ResourceKind } from "@xfn/kubernetes";
import { ApplyCache } from "../objects/apply-cache.ts";
import { CRDS, DEFINITIONS, definitionKey, referenceOf } from "../objects/kinds.ts";
import { DEFINED_SELECTOR } from "../objects/labels.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { type PolledReconcile, REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { executeOne } from "../plan/execute.ts";
import { accountCondition } from "./account-condition.ts";
import { type CrdState, desiredCrds, ensureCrds, servedFor } from "./definition-crd.ts";
import { type DefinitionMemory, type DefinitionNeeds, type DefinitionPort, definitionPort } from "./definition-port.ts";
import { ensureRoles } from "./definition-roles.ts";
import {
  type DefinitionStatus,
  definitionStatus,
  invalidStatus,
  planFinalizers,
  planStatus,
} from "./definition-status.ts";
import { checkLiveDefinition } from "./read-definition.ts";
import { isStillPending, remainingWork } from "./settled-definition.ts";
import { terminateDefinition } from "./terminate-definition.ts";

const PENDING: CrdState = { is: "pending" };

/**
 * Reconciles the CustomResourceDefinitions of definitions of a kind. The key is the name.
 *
 * Conditions and finalizers are those of Crossplane v1.13. `Established` means that composites are served, `Offered`
 * that claims are. A definition that has errors, or whose CRD has another owner, only gets conditions. A deleted
 * definition deletes its claims, then its composites, then the CRDs.
 */
export function definitionReconciler(needs: DefinitionNeeds, kind: ResourceKind = DEFINITIONS): PolledReconcile {
  const port = definitionPort(needs);
  const memories = new Map<string, DefinitionMemory>();
  return async (name, signal) => {
    const memory = memories.get(name) ?? { applies: new ApplyCache(), emitted: new Set() };
    const key = definitionKey(kind, name);
    if (isStillPending(port, memory.pending, kind, name)) return { requeueAfterMs: REQUEUE_AFTER_MS.watchedCrdPending };
    const remaining = remainingWork(port, memory, kind, name);
    const wasSettled = memory.isSettled === true;
    memory.isSettled = remaining.is === "nothing";
    memories.set(name, memory);
    if (remaining.is === "nothing") return { settled: wasSettled ? "again" : "first" };
    if (remaining.is === "roles") {
      const waitMs = port.bursts.deferralMs(key);
      if (waitMs > 0) return { requeueAfterMs: waitMs };
      await ensureRoles(port, memory, remaining.object, remaining.definition, signal);
      return undefined;
    }
    const object = await findLive(port, referenceOf(kind, name), signal);
    if (object === undefined || isBeingDeleted(object)) port.bursts.forget(key);
    if (object === undefined) memories.delete(name);
    if (object === undefined || isPaused(object)) return undefined;
    if (isBeingDeleted(object)) return terminateDefinition(port, object, signal);
    const checked = checkLiveDefinition(object);
    if ("definition" in checked) return ensureDefinition(port, memory, object, checked.definition, signal);
    await report(port, object, invalidStatus(checked.problem), signal);
    return undefined;
  };
}

async function ensureDefinition(
  port: DefinitionPort,
  memory: DefinitionMemory,
  object: LiveObject,
  definition: Definition,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  // Runs before the first CRD is applied, while the list of objects to remove is still complete.
  const current = (await executeOne(port, planFinalizers(object, definition), signal)) ?? object;
  const crds = desiredCrds(object, definition);
  const [composites = PENDING, claims] = await ensureCrds(port, memory.applies, current, crds, signal);
  const established = composites.is === "established";
  const key = definitionKey(definition, object.metadata.name);
  port.bursts.report(key, composites.is === "pending" || claims?.is === "pending");
  const { uid, generation } = current.metadata;
  memory.pending =
    composites.is === "pending"
      ? { name: textAt(crds[0], "metadata", "name") ?? "", uid, generation, readAt: port.now() }
      : undefined;
  const waitMs = established ? port.bursts.deferralMs(key) : 0;
  const isRefused = composites.is === "refused" || claims?.is === "refused";
  if (isRefused || (established && waitMs === 0)) {
    const served = { composites: servedFor(composites), claims: servedFor(claims) };
    await ensureRoles(port, memory, current, definition, signal, served);
  }
  const problems = port.instanceProblems(key);
  const status = definitionStatus(definition, composites, claims, problems);
  const account = await accountCondition(port, current, definition, signal);
  const conditions = account === undefined ? status.conditions : [...status.conditions, account];
  const isUnlisted = problems.composites !== undefined || problems.claims !== undefined;
  const lacksAccount = account !== undefined && account.status !== "True";
  const outcome = requeueFor(port, [composites.is, claims?.is, isUnlisted || lacksAccount ? "refused" : undefined]);
  await report(port, current, { ...status, conditions }, signal);
  return outcome ?? (waitMs > 0 ? { requeueAfterMs: waitMs } : undefined);
}

/** The time until CRDs in these states must be checked again. */
export function requeueFor(
  { informers }: Pick<DefinitionPort, "informers">,
  states: readonly (CrdState["is"] | undefined)[],
): Outcome | undefined {
  const isWatched = informers.peek(CRDS, DEFINED_SELECTOR) !== undefined;
  if (states.includes("pending"))
    return { requeueAfterMs: isWatched ? REQUEUE_AFTER_MS.watchedCrdPending : REQUEUE_AFTER_MS.crdPending };
  if (states.includes("deleting")) return { requeueAfterMs: REQUEUE_AFTER_MS.instancesDeletion };
  return states.includes("refused") ? { requeueAfterMs: REQUEUE_AFTER_MS.userAction } : undefined;
}

/** Emits an event for each changed condition, and writes the status. */
export async function report(
  port: DefinitionPort,
  object: LiveObject,
  status: DefinitionStatus,
  signal: AbortSignal,
): Promise<void> {
  const { action, news } = planStatus(object, status, port.now());
  for (const { type, status: value, reason, message = "" } of news) {
    const text = message === "" ? `${type}: its instances are reconciled` : message;
    port.events.record(object, { type: value === "True" ? "Normal" : "Warning", reason, message: text });
  }
  await executeOne(port, action, signal);
}
