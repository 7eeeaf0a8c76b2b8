import { claimCrd, compositeCrd } from "@xfn/composition/definition";
import type { ResourceKind } from "@xfn/kubernetes";
import { ApplyCache } from "../objects/apply-cache.ts";
import type { Context } from "../objects/context.ts";
import { claimKindOf } from "../objects/definition-kinds.ts";
import { definitionKey } from "../objects/kinds.ts";
import { ANNOTATION_PAUSED } from "../objects/labels.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { isCrdSettled } from "./definition-crd.ts";
import { areRolesSettled, type DefinitionMemory } from "./definition-roles.ts";
import { definitionStatus, invalidCondition, missingFinalizers } from "./definition-status.ts";
import { changedStatus } from "./patch-definition.ts";
import { checkLiveDefinition } from "./read-definition.ts";

const ESTABLISHED = { is: "established" } as const;

/**
 * Whether a reconcile would change nothing, as far as the caches of definitions, CRDs and ClusterRoles show. Then it
 * needs no request: the caches report every later change as an event. So polls of hundreds of definitions are free.
 *
 * @param memory undefined if the process has not reconciled the definition yet
 */
export function isDefinitionSettled(
  context: Context,
  memory: DefinitionMemory | undefined,
  kind: ResourceKind,
  name: string,
): boolean {
  const object = context.informers.peek(kind)?.get(name);
  if (object === undefined || isBeingDeleted(object)) return false;
  if (object.metadata.annotations?.[ANNOTATION_PAUSED] === "true") return true;
  const checked = checkLiveDefinition(object);
  if (!("definition" in checked))
    return changedStatus(context, object, [invalidCondition(checked.problem)], {}) === undefined;
  const { definition } = checked;
  const { applies } = memory ?? { applies: new ApplyCache() };
  const offersClaims = claimKindOf(definition) !== undefined;
  const problems = context.instanceProblems?.(definitionKey(kind, name)) ?? {};
  if (problems.composites !== undefined || problems.claims !== undefined) return false;
  const crds = [compositeCrd(object), ...(offersClaims ? [claimCrd(object)] : [])];
  const claims = offersClaims ? ESTABLISHED : undefined;
  const { conditions, controllers } = definitionStatus(definition, ESTABLISHED, claims, {});
  return (
    missingFinalizers(object, definition).length === 0 &&
    changedStatus(context, object, conditions, controllers) === undefined &&
    crds.every((crd) => isCrdSettled(context, applies, object, crd)) &&
    areRolesSettled(context, applies, object, definition)
  );
}
