import type { ResourceKind } from "@xfn/kubernetes";
import { ApplyCache } from "../objects/apply-cache.ts";
import { DEFINITIONS, definitionKey, referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { type PolledReconcile, REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { carryOutStatus } from "./carry-out.ts";
import { type DefinitionMemory, type DefinitionNeeds, definitionPort } from "./definition-port.ts";
import { planInvalid } from "./definition-status.ts";
import { isStillPending } from "./observe-definition.ts";
import { subjectOf } from "./read-definition.ts";
import { grantRoles, planCached, serveDefinition } from "./serve-definition.ts";
import { terminateDefinition } from "./terminate-definition.ts";

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
    const key = definitionKey(kind, name);
    const memory = memories.get(name) ?? { applies: new ApplyCache(), emitted: new Set() };
    memories.set(name, memory);
    const cached = port.informers.peek(kind)?.get(name);
    if (isStillPending(port, memory.pending, cached)) return { requeueAfterMs: REQUEUE_AFTER_MS.watchedCrdPending };
    const remaining = planCached(port, cached, memory);
    const wasSettled = memory.isSettled === true;
    memory.isSettled = remaining === "nothing";
    if (remaining === "nothing") return { settled: wasSettled ? "again" : "first" };
    if (remaining !== undefined) {
      const waitMs = port.bursts.deferralMs(key);
      if (waitMs > 0) return { requeueAfterMs: waitMs };
      await grantRoles(port, remaining, signal);
      return undefined;
    }
    const object = await findLive(port, referenceOf(kind, name), signal);
    if (object === undefined || isBeingDeleted(object)) port.bursts.forget(key);
    if (object === undefined) memories.delete(name);
    if (object === undefined || isPaused(object)) return undefined;
    if (isBeingDeleted(object)) return terminateDefinition(port, object, signal);
    const subject = subjectOf(object, memory);
    if (!("problem" in subject)) return serveDefinition(port, subject, signal);
    await carryOutStatus(port, object, planInvalid(object, subject.problem, port.now()), signal);
    return undefined;
  };
}
