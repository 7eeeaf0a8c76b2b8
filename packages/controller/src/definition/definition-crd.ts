import { type KubernetesObject, listAt, objectAt, textAt } from "@xfn/json";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { appliedFields } from "../objects/applied-fields.ts";
import { conditionOf, isTrue } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { DEFINITIONS } from "../objects/kinds.ts";
import { LABEL_DEFINED } from "../objects/labels.ts";
import { type ControllerReference, controllerOf, isBeingDeleted } from "../objects/owner.ts";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import type { Subject } from "./definition-port.ts";

/** The state of a definition's CRD. */
export type CrdState =
  | { readonly is: "established" }
  /** The API server does not serve it yet. */
  | { readonly is: "pending" }
  /** It was deleted, and remains until its instances are gone. The controller then creates it again. */
  | { readonly is: "deleting" }
  /** It cannot become the desired CRD. `isKept`: the definition controls it, and it stays unchanged. */
  | { readonly is: "refused"; readonly reason: string; readonly message: string; readonly isKept?: boolean };

/** A CRD that a definition must have, as found. */
export interface SeenCrd {
  readonly desired: KubernetesObject;
  readonly observed: LiveObject | undefined;
  /** The answer of the API server to its write: the CRD, or why it is refused. Absent without a write. */
  readonly answer?: ApiError | LiveObject | undefined;
}

/** The write of a definition's CRD, or the state that needs none. */
export type PlannedCrd = (Action & { do: "apply" }) | CrdState;

/**
 * Plans to apply the CRD of a definition if that changes it. Does not change a CRD that has another owner or no owner:
 * a new schema could break its instances.
 */
export function planCrd(
  { object: definition, memory }: Pick<Subject, "memory" | "object">,
  { desired, observed, answer }: SeenCrd,
): PlannedCrd {
  if (answer instanceof ApiError)
    return { is: "refused", reason: "CannotApplyCRD", message: answer.message, isKept: observed !== undefined };
  if (answer !== undefined) return stateOf(answer);
  if (observed !== undefined) {
    const owner = controllerOf(observed);
    if (!canControl(definition, observed, owner)) return { is: "refused", ...describeOwner(observed, owner) };
    if (isBeingDeleted(observed)) return { is: "deleting" };
    if (scopeOfCrd(observed) !== scopeOfCrd(desired)) return scopeChanged(observed, desired);
  }
  const intent = withLabel(desired);
  const manager = FIELD_MANAGERS.definition;
  if (observed !== undefined && memory.applies.isApplied(intent, observed, { fieldManager: manager }))
    return stateOf(observed);
  const change = { do: "apply", intent, seen: observed, guard: "uid" } as const;
  return { as: "own", on: referenceTo(intent), manager, why: "the definition differs", ...change };
}

/** The scope and the layout of a CRD's instances: a change of layout would prune the fields of the other one. */
function scopeOfCrd(crd: KubernetesObject): string {
  const isModern = listAt(crd, "spec", "versions").some((version) => {
    const path = ["schema", "openAPIV3Schema", "properties", "spec", "properties", "crossplane", "properties"];
    return objectAt(version, ...path)["resourceRefs"] !== undefined;
  });
  return `${textAt(crd, "spec", "scope")} ${isModern ? "with spec.crossplane" : "with the fields of Crossplane 1"}`;
}

/** An earlier definition of the same name left the CRD, with instances that would lose their composed resources. */
function scopeChanged(observed: LiveObject, desired: KubernetesObject): CrdState {
  return {
    is: "refused",
    reason: "ScopeChanged",
    isKept: true,
    message:
      `the CustomResourceDefinition ${observed.metadata.name} has the scope ${scopeOfCrd(observed)}, and the definition ` +
      `wants ${scopeOfCrd(desired)}; write the definition with that scope, or delete the CustomResourceDefinition with ` +
      "its instances",
  };
}

function withLabel(desired: KubernetesObject): KubernetesObject {
  const labels = { ...desired.metadata?.labels, [LABEL_DEFINED]: "true" };
  return { ...desired, metadata: { ...desired.metadata, labels } };
}

/**
 * Whether a definition controls a CRD or can adopt it. It can adopt a CRD that an earlier definition of the same name
 * left. Either that definition was deleted with orphans, so that the CRD has no controller, or a restore gave it
 * another UID.
 */
function canControl(definition: LiveObject, crd: LiveObject, owner: ControllerReference | undefined): boolean {
  // A restore may lose the managed fields.
  if (owner === undefined && crd.metadata.labels?.[LABEL_DEFINED] === "true") return true;
  if (owner === undefined) return appliedFields(crd, FIELD_MANAGERS.definition, "") !== undefined;
  if (owner.uid === definition.metadata.uid) return true;
  const isDefinition = owner.kind === definition.kind && owner.apiVersion.startsWith(`${DEFINITIONS.group}/`);
  return isDefinition && owner.name === definition.metadata.name;
}

function describeOwner(crd: LiveObject, owner: ControllerReference | undefined): { reason: string; message: string } {
  const [problem, wayOut] =
    owner === undefined
      ? [
          "is not controlled by any definition",
          "delete it, or make this definition its controller (metadata.ownerReferences)",
        ]
      : [`belongs to ${owner.kind} ${owner.name}`, "choose other names, or delete that one"];
  return {
    reason: "CRDOfAnother",
    message: `the CustomResourceDefinition ${crd.metadata.name} ${problem} and is left alone; ${wayOut}`,
  };
}

/** The state of a CRD that a definition controls. */
export function stateOf(crd: LiveObject): CrdState {
  if (isTrue(crd, "Established")) return { is: "established" };
  const names = conditionOf(crd, "NamesAccepted");
  if (names?.["status"] !== "False") return { is: "pending" };
  const detail = textAt(names, "message") ?? "no reason given";
  const message = `the names of the CustomResourceDefinition ${crd.metadata.name} are not accepted: ${detail}`;
  return { is: "refused", reason: "NamesNotAccepted", message };
}
