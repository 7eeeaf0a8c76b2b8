import { type KubernetesObject, objectAt, textAt, textsAt } from "@xfn/json";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import { appliedFields } from "../objects/applied-fields.ts";
import type { ApplyCache } from "../objects/apply-cache.ts";
import { conditionOf, isTrue } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { CRDS, DEFINITIONS, referenceOf } from "../objects/kinds.ts";
import { DEFINED_SELECTOR, LABEL_DEFINED } from "../objects/labels.ts";
import { controllerOf, isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { servedVersions } from "../objects/served-versions.ts";

/** The state of a definition's CRD. */
export type CrdState =
  | { readonly is: "established" }
  /** The API server does not serve it yet. */
  | { readonly is: "pending" }
  /** It was deleted, and remains until its instances are gone. The controller then creates it again. */
  | { readonly is: "deleting" }
  /** It cannot become the desired CRD. `isKept`: the definition controls it, and it stays unchanged. */
  | { readonly is: "refused"; readonly reason: string; readonly message: string; readonly isKept?: boolean };

/** Whether the API server serves a kind for a definition's CRD; undefined if that is unchanged or not known yet. */
export function servedFor(state: CrdState | undefined): boolean | undefined {
  if (state?.is === "refused") return state.isKept === true ? undefined : false;
  return state?.is === "established" ? true : undefined;
}

/** Reads a CRD from the API server; undefined if it does not exist. */
export function findCrd(
  reader: Pick<Context, "client">,
  name: string,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  return findLive(reader, referenceOf(CRDS, name), signal);
}

/**
 * Applies the CRD of a definition if that changes it. Does not change a CRD that has another owner or no owner: a new
 * schema could break its instances.
 */
export async function ensureCrd(
  context: Context,
  applies: ApplyCache,
  definition: LiveObject,
  desired: KubernetesObject,
  signal: AbortSignal,
): Promise<CrdState> {
  const { name = "" } = textsAt(desired, "metadata");
  const observed = await findCrd(context, name, signal);
  if (observed !== undefined && !canControl(definition, observed)) return { is: "refused", ...describeOwner(observed) };
  if (observed !== undefined && isBeingDeleted(observed)) return { is: "deleting" };
  if (observed !== undefined && scopeOfCrd(observed) !== scopeOfCrd(desired)) return scopeChanged(observed, desired);
  try {
    const options = { fieldManager: FIELD_MANAGERS.definition, signal };
    const { object, written } = await applies.apply(context.client, withLabel(desired), observed, options);
    if (written) forgetKindsOf(context, observed === undefined ? [object] : [observed, object]);
    return stateOf(object);
  } catch (error) {
    if (!isApiError(error, "Invalid", "Forbidden")) throw error;
    return { is: "refused", reason: "CannotApplyCRD", message: error.message, isKept: observed !== undefined };
  }
}

/**
 * Forgets only the versions of these CRDs. With many definitions, other kinds would be looked up again for each of
 * them.
 */
function forgetKindsOf({ client }: Context, crds: readonly LiveObject[]): void {
  for (const crd of crds) {
    const group = textAt(crd, "spec", "group") ?? "";
    for (const version of servedVersions(crd)) client.forgetKinds(`${group}/${textAt(version, "name") ?? ""}`);
  }
}

/** The scope and the layout of a CRD's instances: a change of layout would prune the fields of the other one. */
function scopeOfCrd(crd: KubernetesObject): string {
  const versions = objectAt(crd, "spec")["versions"];
  const isModern = (Array.isArray(versions) ? versions : []).some((version) => {
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

/**
 * Whether a CRD is established as desired, according to the watched CRDs. An apply would then change nothing: a later
 * change arrives as an event.
 */
export function isCrdSettled(
  { informers }: Context,
  applies: ApplyCache,
  definition: LiveObject,
  desired: KubernetesObject,
): boolean {
  const { name = "" } = textsAt(desired, "metadata");
  const crd = informers.peek(CRDS, DEFINED_SELECTOR)?.get(name);
  if (crd === undefined || !isControlledBy(crd, definition) || isBeingDeleted(crd) || !isTrue(crd, "Established"))
    return false;
  return applies.isApplied(withLabel(desired), crd, { fieldManager: FIELD_MANAGERS.definition });
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
function canControl(definition: LiveObject, crd: LiveObject): boolean {
  const owner = controllerOf(crd);
  if (owner === undefined) return appliedFields(crd, FIELD_MANAGERS.definition, "") !== undefined;
  if (owner.uid === definition.metadata.uid) return true;
  const isDefinition = owner.kind === definition.kind && owner.apiVersion.startsWith(`${DEFINITIONS.group}/`);
  return isDefinition && owner.name === definition.metadata.name;
}

function describeOwner(crd: LiveObject): { reason: string; message: string } {
  const owner = controllerOf(crd);
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
