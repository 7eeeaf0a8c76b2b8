import type { Definition } from "@xfn/composition/definition";
import { textAt } from "@xfn/json";
import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import { hasElapsed } from "../objects/elapsed.ts";
import { CLUSTER_ROLES, CRDS, definitionKey } from "../objects/kinds.ts";
import { DEFINED_SELECTOR } from "../objects/labels.ts";
import { isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { isPaused } from "../objects/read-objects.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { desiredCrds, planCrd, stateOf } from "./definition-crd.ts";
import type { DefinitionMemory, DefinitionPort, PendingCrd } from "./definition-port.ts";
import { areRolesAsPlanned } from "./definition-roles.ts";
import {
  type DefinitionStatus,
  definitionStatus,
  invalidStatus,
  planFinalizers,
  planStatus,
} from "./definition-status.ts";
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
  port: DefinitionPort,
  { applies }: Pick<DefinitionMemory, "applies">,
  kind: ResourceKind,
  name: string,
): Remaining {
  const object = port.informers.peek(kind)?.get(name);
  if (object === undefined || isBeingDeleted(object)) return UNKNOWN;
  if (isPaused(object)) return NOTHING;
  const checked = checkLiveDefinition(object);
  const hasStatus = (status: DefinitionStatus): boolean => planStatus(object, status, port.now()).action === undefined;
  if (!("definition" in checked)) return hasStatus(invalidStatus(checked.problem)) ? NOTHING : UNKNOWN;
  const { definition } = checked;
  const problems = port.instanceProblems(definitionKey(kind, name));
  if (problems.composites !== undefined || problems.claims !== undefined) return UNKNOWN;
  // Accounts are not cached.
  if (definition.spec.serviceAccountRef !== undefined) return UNKNOWN;
  const crds = desiredCrds(object, definition);
  const status = definitionStatus(definition, ESTABLISHED, crds.length > 1 ? ESTABLISHED : undefined, {});
  if (planFinalizers(object, definition) !== undefined || !hasStatus(status)) return UNKNOWN;
  const cached = (one: ResourceKind) => (named: string) => port.informers.peek(one, DEFINED_SELECTOR)?.get(named);
  const areEstablished = crds.every((crd) => {
    const planned = planCrd(object, crd, cached(CRDS)(textAt(crd, "metadata", "name") ?? ""), applies);
    return "is" in planned && planned.is === "established";
  });
  if (!areEstablished) return UNKNOWN;
  const areGranted = areRolesAsPlanned(object, definition, cached(CLUSTER_ROLES), applies);
  return areGranted ? NOTHING : { is: "roles", object, definition };
}

/**
 * Whether a definition still waits for its CRD, according to the caches. An event reports the end of the wait. The API
 * server establishes the CRDs of a burst one after another, so live reads for every waiting definition would slow it
 * down.
 */
export function isStillPending(
  { informers, now }: DefinitionPort,
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
