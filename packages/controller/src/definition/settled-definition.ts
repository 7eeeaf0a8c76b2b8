import { claimCrd, compositeCrd, type Definition } from "@xfn/composition/definition";
import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import { INSTANCES } from "../kinds/instance-descriptions.ts";
import type { Context } from "../objects/context.ts";
import { claimKindOf } from "../objects/definition-kinds.ts";
import { hasElapsed } from "../objects/elapsed.ts";
import { CRDS, definitionKey } from "../objects/kinds.ts";
import { DEFINED_SELECTOR } from "../objects/labels.ts";
import { isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { isPaused } from "../objects/read-objects.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { isCrdSettled, stateOf } from "./definition-crd.ts";
import { areRolesSettled, type DefinitionMemory, type PendingCrd } from "./definition-roles.ts";
import { definitionStatus, invalidCondition, missingFinalizers } from "./definition-status.ts";
import { changedStatus } from "./patch-definition.ts";
import { checkLiveDefinition } from "./read-definition.ts";

const ESTABLISHED = { is: "established" } as const;

/**
 * The changes that a reconcile of a definition would make. `nothing`: it needs no request, because the caches report
 * every later change as an event. `roles`: it would only write ClusterRoles.
 */
export type Remaining =
  | { readonly is: "nothing" }
  | { readonly is: "roles"; readonly object: LiveObject; readonly definition: Definition }
  | { readonly is: "unknown" };

const NOTHING = { is: "nothing" } as const;
const UNKNOWN = { is: "unknown" } as const;

/** The changes that a reconcile would make, according to the caches of definitions, CRDs and ClusterRoles. */
export function remainingWork(
  context: Context,
  { applies }: Pick<DefinitionMemory, "applies">,
  kind: ResourceKind,
  name: string,
): Remaining {
  const object = context.informers.peek(kind)?.get(name);
  if (object === undefined || isBeingDeleted(object)) return UNKNOWN;
  if (isPaused(object)) return NOTHING;
  const checked = checkLiveDefinition(object);
  if (!("definition" in checked)) {
    const isReported = changedStatus(context, object, [invalidCondition(checked.problem)], {}) === undefined;
    return isReported ? NOTHING : UNKNOWN;
  }
  const { definition } = checked;
  const offersClaims = claimKindOf(definition) !== undefined;
  const problems = context.instanceProblems?.(definitionKey(kind, name)) ?? {};
  if (problems.composites !== undefined || problems.claims !== undefined) return UNKNOWN;
  // Accounts are not cached.
  if (definition.spec.serviceAccountRef !== undefined) return UNKNOWN;
  const claims = offersClaims ? ESTABLISHED : undefined;
  const { conditions, controllers } = definitionStatus(definition, ESTABLISHED, claims, {});
  if (missingFinalizers(object, definition).length > 0) return UNKNOWN;
  if (changedStatus(context, object, conditions, controllers) !== undefined) return UNKNOWN;
  const crds = [compositeCrd(object, INSTANCES), ...(offersClaims ? [claimCrd(object, INSTANCES)] : [])];
  if (!crds.every((crd) => isCrdSettled(context, applies, object, crd))) return UNKNOWN;
  return areRolesSettled(context, applies, object, definition) ? NOTHING : { is: "roles", object, definition };
}

/**
 * Whether a definition still waits for its CRD, according to the caches. An event reports the end of the wait. The API
 * server establishes the CRDs of a burst one after another, so live reads for every waiting definition would slow it
 * down.
 */
export function isStillPending(
  { informers, now }: Context,
  pending: PendingCrd | undefined,
  kind: ResourceKind,
  name: string,
): boolean {
  if (pending === undefined || hasElapsed(pending.readAt, now(), REQUEUE_AFTER_MS.watchedCrdPending)) return false;
  const object = informers.peek(kind)?.get(name);
  if (object === undefined || isBeingDeleted(object) || isPaused(object)) return false;
  if (object.metadata.uid !== pending.uid || object.metadata["generation"] !== pending.generation) return false;
  const crd = informers.peek(CRDS, DEFINED_SELECTOR)?.get(pending.name);
  return crd !== undefined && isControlledBy(crd, object) && !isBeingDeleted(crd) && stateOf(crd).is === "pending";
}
