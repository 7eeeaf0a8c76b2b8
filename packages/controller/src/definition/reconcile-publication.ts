import { documentOf } from "@xfn/composition";
import { checkPublication, claimCrd, lowerDefinition } from "@xfn/composition/definition";
import { type KubernetesObject, objectAt, textAt } from "@xfn/json";
import type { LiveObject, Outcome, Reconcile } from "@xfn/kubernetes";
import { INSTANCES } from "../kinds/instance-descriptions.ts";
import { ApplyCache } from "../objects/apply-cache.ts";
import type { Condition } from "../objects/conditions.ts";
import { CRDS, definitionKey, INFRASTRUCTURE_DEFINITIONS, PUBLICATIONS, referenceOf } from "../objects/kinds.ts";
import { DEFINED_SELECTOR } from "../objects/labels.ts";
import { controllerReferenceTo, isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { carryOutStatus } from "./carry-out.ts";
import { type DefinitionMemory, type DefinitionNeeds, type DefinitionPort, definitionPort } from "./definition-port.ts";
import { planStatus } from "./definition-status.ts";
import { checkLiveDefinition, readDefinition } from "./read-definition.ts";
import { serveDefinition } from "./serve-definition.ts";
import { terminateDefinition } from "./terminate-definition.ts";

/**
 * Reconciles the CustomResourceDefinition of an InfrastructurePublication: the requirements for the composites of its
 * InfrastructureDefinition. The key is its name. `Offered` means that requirements are served. A deleted publication
 * deletes its requirements, which release or delete their composites, then the CRD.
 */
export function publicationReconciler(needs: DefinitionNeeds): Reconcile {
  // A burst resumes only definitions.
  const port = definitionPort({ ...needs, bursts: undefined });
  const memories = new Map<string, DefinitionMemory>();
  return async (name, signal) => {
    const object = await findLive(port, referenceOf(PUBLICATIONS, name), signal);
    if (object === undefined) memories.delete(name);
    if (object === undefined || isPaused(object)) return undefined;
    const written = await findLive(port, referenceOf(INFRASTRUCTURE_DEFINITIONS, name), signal);
    if (isBeingDeleted(object)) return terminate(port, object, signal);
    const refusal = await refusalOf(port, object, written, signal);
    if (refusal !== undefined) {
      const condition: Condition = { type: "Offered", status: "False", ...refusal };
      const status = planStatus(object, { conditions: [condition], controllers: {} }, port.now());
      await carryOutStatus(port, object, status, signal);
      return { requeueAfterMs: REQUEUE_AFTER_MS.userAction };
    }
    const definition = written && readDefinition(written, { isPublished: true });
    if (written === undefined || definition === undefined) return undefined;
    const memory = memories.get(name) ?? { applies: new ApplyCache(), emitted: new Set() };
    memories.set(name, memory);
    const crds = { claims: requirementCrd(object, written) };
    const subject = { object, definition, key: definitionKey(definition, name), crds, memory };
    return serveDefinition(port, subject, signal);
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
    const crd = await findLive(port, referenceOf(CRDS, name), signal);
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
