import { type JsonObject, type KubernetesObject, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { PACKAGE_GROUP } from "@xfn/package";
import type { CrdState } from "../definition/definition-crd.ts";
import type { ApplyCache } from "../objects/apply-cache.ts";
import type { Condition } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { MANAGED_DEFINITIONS } from "../objects/kinds.ts";
import { controllerOf, ownerReferencesOf } from "../objects/owner.ts";
import { referenceTo } from "../objects/references.ts";
import { inOrder, type NotedPlan } from "../package/carry-out.ts";
import { crdOf } from "../package/managed/managed-definition.ts";
import { observationOf, observed, withObservation } from "../package/managed/observed-state.ts";
import { planStatus } from "../package/plan-status.ts";
import type { Action } from "../plan/action.ts";
import { planInOrder } from "../plan/plan.ts";

const manager = FIELD_MANAGERS.managed;

/** Plans the CRD of an active definition; undefined if it is as it must be. */
export function planManagedCrd(
  definition: LiveObject,
  crd: LiveObject | undefined,
  applies: Pick<ApplyCache, "isApplied">,
): (Action & { readonly do: "apply" }) | undefined {
  const wanted = crdOf(definition);
  const intent: KubernetesObject = {
    ...wanted,
    metadata: { ...wanted.metadata, ownerReferences: ownersFor(definition, crd) },
  };
  if (crd !== undefined && applies.isApplied(intent, crd, { fieldManager: manager })) return undefined;
  const change = { do: "apply", intent, seen: crd, guard: "uid", force: crd !== undefined } as const;
  return { as: "own", on: referenceTo(intent), manager, why: "its definition is active", ...change };
}

/**
 * As in Crossplane, the definition and its controller own the CRD, and the latter controls it. The package's other
 * revisions keep the CRD alive too, but control it no longer.
 */
function ownersFor(definition: LiveObject, crd: LiveObject | undefined): JsonObject[] {
  const controller = controllerOf(definition);
  const { apiVersion, kind, metadata } = definition;
  const { name, uid } = metadata;
  const others = (crd === undefined ? [] : ownerReferencesOf(crd)).filter(
    (owner) =>
      textAt(owner, "apiVersion")?.startsWith(`${PACKAGE_GROUP}/`) &&
      owner["uid"] !== controller?.uid &&
      !(owner["kind"] === controller?.kind && owner["name"] === controller?.name),
  );
  const plain = [...others, { apiVersion, kind, name, uid }].map(
    (owner): JsonObject => ({ ...owner, controller: false, blockOwnerDeletion: false }),
  );
  return controller === undefined ? plain : [...plain, { ...controller, controller: true, blockOwnerDeletion: true }];
}

/**
 * Whether a CRD belongs to a definition: the definition or its package owns it, or an earlier definition or revision of
 * that name does.
 */
export function belongsTo(crd: LiveObject, definition: LiveObject): boolean {
  const controller = controllerOf(definition);
  const uids = new Set([definition.metadata.uid, ...ownerReferencesOf(definition).map(({ uid }) => uid)]);
  return ownerReferencesOf(crd).some(
    ({ kind, name, uid }) =>
      (typeof uid === "string" && uids.has(uid)) ||
      (kind === MANAGED_DEFINITIONS.kind && name === definition.metadata.name) ||
      (kind === controller?.kind && name === controller?.name),
  );
}

/** The condition of a definition, with the reasons of Crossplane. */
function establishedCondition(state: CrdState | "inactive" | "terminating"): Condition {
  const type = "Established";
  if (state === "inactive") return { type, status: "False", reason: "InactiveManagedResource" };
  if (state === "terminating") return { type, status: "False", reason: "TerminatingManagedResource" };
  const reason = "PendingManagedResource";
  switch (state.is) {
    case "established":
      return { type, status: "True", reason: "EstablishedManagedResource" };
    case "pending":
      return { type, status: "Unknown", reason };
    case "deleting":
      return { type, status: "False", reason, message: "the CustomResourceDefinition is being deleted" };
    case "refused":
      return { type, status: "False", reason, message: state.message };
  }
}

/**
 * Plans the status of a definition, then the record of what was observed.
 *
 * @param crd the established CRD
 */
export function planObserved(
  definition: LiveObject,
  state: CrdState | "inactive" | "terminating",
  crd: LiveObject | undefined,
  now: number,
): NotedPlan {
  const status = planStatus(definition, { conditions: [establishedCondition(state)], fields: {} }, now, manager);
  const isComplete = state === "inactive" || (typeof state === "object" && state.is === "established");
  const observation = observationOf(definition, crd);
  if (!isComplete || observed(definition) === observation) return status;
  const record: Action = {
    as: "own",
    manager,
    on: referenceTo(definition),
    why: "its status is current",
    do: "patch",
    body: { metadata: withObservation(observation) },
    seen: definition,
    guard: "version",
  };
  return inOrder(status, { ...planInOrder("observed", [record]), notes: new Map() });
}
