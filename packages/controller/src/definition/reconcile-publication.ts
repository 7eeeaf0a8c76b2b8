import { documentOf } from "@xfn/composition";
import { checkPublication, claimCrd, type Definition, lowerDefinition } from "@xfn/composition/definition";
import { type KubernetesObject, objectAt, textAt } from "@xfn/json";
import type { LiveObject, Outcome, Reconcile } from "@xfn/kubernetes";
import { INSTANCES } from "../kinds/instance-descriptions.ts";
import { ApplyCache } from "../objects/apply-cache.ts";
import type { Condition } from "../objects/conditions.ts";
import { claimKindOf } from "../objects/definition-kinds.ts";
import { FINALIZER_OFFERED, finalizersOf } from "../objects/finalizers.ts";
import {
  CRDS,
  definitionKey,
  INFRASTRUCTURE_DEFINITIONS,
  PUBLICATIONS,
  referenceOf,
  typeMeta,
} from "../objects/kinds.ts";
import { DEFINED_SELECTOR } from "../objects/labels.ts";
import { controllerReferenceTo, isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { executeOne } from "../plan/execute.ts";
import { ensureCrds, findCrd, servedFor } from "./definition-crd.ts";
import { type DefinitionMemory, type DefinitionNeeds, type DefinitionPort, definitionPort } from "./definition-port.ts";
import { ensureRoles } from "./definition-roles.ts";
import { conditionFor, PATCH } from "./definition-status.ts";
import { checkLiveDefinition } from "./read-definition.ts";
import { report, requeueFor } from "./reconcile-definition.ts";
import { terminateDefinition } from "./terminate-definition.ts";

/**
 * Reconciles the CustomResourceDefinition of an InfrastructurePublication: the requirements for the composites of its
 * InfrastructureDefinition. The key is its name. `Offered` means that requirements are served. A deleted publication
 * deletes its requirements, which release or delete their composites, then the CRD.
 */
export function publicationReconciler(needs: DefinitionNeeds): Reconcile {
  const port = definitionPort(needs);
  const memories = new Map<string, DefinitionMemory>();
  return async (name, signal) => {
    const object = await findLive(port, referenceOf(PUBLICATIONS, name), signal);
    if (object === undefined) memories.delete(name);
    if (object === undefined || isPaused(object)) return undefined;
    const definition = await findLive(port, referenceOf(INFRASTRUCTURE_DEFINITIONS, name), signal);
    if (isBeingDeleted(object)) return terminate(port, object, signal);
    const refusal = await refusalOf(port, object, definition, signal);
    if (refusal !== undefined) {
      const condition: Condition = { type: "Offered", status: "False", ...refusal };
      await report(port, object, { conditions: [condition], controllers: {} }, signal);
      return { requeueAfterMs: REQUEUE_AFTER_MS.userAction };
    }
    if (definition === undefined) return undefined;
    const checked = checkLiveDefinition(definition, { isPublished: true });
    if (!("definition" in checked)) return undefined;
    const memory = memories.get(name) ?? { applies: new ApplyCache(), emitted: new Set() };
    memories.set(name, memory);
    return ensurePublication(port, memory, object, definition, checked.definition, signal);
  };
}

/** Why a publication cannot be offered; undefined if it can. */
async function refusalOf(
  port: DefinitionPort,
  object: LiveObject,
  definition: LiveObject | undefined,
  signal: AbortSignal,
): Promise<{ reason: string; message: string } | undefined> {
  const { name } = object.metadata;
  const { error } = checkPublication(documentOf(object));
  if (error !== undefined) return { reason: "InvalidPublication", message: error.message };
  if (definition === undefined) {
    const crd = await findCrd(port, name, signal);
    if (crd === undefined)
      return { reason: "DefinitionNotFound", message: `waits for the InfrastructureDefinition ${name}: create it` };
    return {
      reason: "NotInfrastructure",
      message:
        `the kind ${textAt(crd, "spec", "names", "kind") ?? name} is not defined by an InfrastructureDefinition, so it ` +
        "cannot be published: define infrastructure that composes it, and publish that; a CompositeResourceDefinition " +
        "offers claims with spec.claimNames",
    };
  }
  if (isBeingDeleted(definition))
    return { reason: "DefinitionTerminating", message: `the InfrastructureDefinition ${name} is being deleted` };
  const checked = checkLiveDefinition(definition, { isPublished: true });
  if ("definition" in checked) return undefined;
  return { reason: "InvalidDefinition", message: `the InfrastructureDefinition ${name}: ${checked.problem}` };
}

async function ensurePublication(
  port: DefinitionPort,
  memory: DefinitionMemory,
  object: LiveObject,
  written: LiveObject,
  definition: Definition,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  // Runs before the CRD is applied, so that a deletion finds it.
  const finalizers = finalizersOf(object);
  const why = "it lacks a finalizer";
  const body = { metadata: { finalizers: [...finalizers, FINALIZER_OFFERED] } };
  const patch = finalizers.includes(FINALIZER_OFFERED)
    ? undefined
    : { ...PATCH, on: referenceTo(object), why, body, seen: object };
  const current = (await executeOne(port, patch, signal)) ?? object;
  const crds = [requirementCrd(current, written)];
  const [state = { is: "pending" } as const] = await ensureCrds(port, memory.applies, current, crds, signal);
  const isEstablished = state.is === "established";
  if (isEstablished || state.is === "refused") {
    const served = { composites: undefined, claims: servedFor(state) };
    await ensureRoles(port, memory, current, definition, signal, served);
  }
  const problem = port.instanceProblems(definitionKey(definition, written.metadata.name)).claims;
  const condition = conditionFor("Offered", "WatchingCompositeResourceClaim", state, problem);
  const conditions = condition === undefined ? [] : [condition];
  const kind = claimKindOf(definition);
  const controllers = isEstablished && kind !== undefined ? { compositeResourceClaimType: typeMeta(kind) } : {};
  await report(port, current, { conditions, controllers }, signal);
  return requeueFor(port, [state.is, problem === undefined ? undefined : "refused"]);
}

/** The CRD of requirements. The publication controls it, so the CRD is deleted with the publication. */
function requirementCrd(publication: LiveObject, definition: LiveObject): KubernetesObject {
  const crd = claimCrd(lowerDefinition(definition, { isPublished: true }), INSTANCES);
  const ownerReferences = [controllerReferenceTo(publication)];
  return { ...crd, metadata: { ...(crd["metadata"] as KubernetesObject["metadata"]), ownerReferences } };
}

/** Deletes the requirements. Their CRD identifies their kind: the definition may be gone or replaced by now. */
async function terminate(port: DefinitionPort, object: LiveObject, signal: AbortSignal): Promise<Outcome | undefined> {
  const { items } = await port.client.list(CRDS, { labelSelector: DEFINED_SELECTOR.labelSelector, signal });
  const crd = items.find((one) => isControlledBy(one, object));
  const group = textAt(crd, "spec", "group");
  const claimNames = crd && objectAt(crd, "spec", "names");
  const spec = group === undefined || claimNames === undefined ? {} : { group, claimNames };
  return terminateDefinition(port, { ...object, spec }, signal);
}
