import type { KubernetesObject } from "@xfn/functionio";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import { appliedFields } from "../objects/applied-fields.ts";
import type { AppliedMemory } from "../objects/apply-changed.ts";
import { conditionOf } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { CRDS, DEFINITIONS } from "../objects/kinds.ts";
import { LABEL_DEFINED } from "../objects/labels.ts";
import { controllerOf } from "../objects/owner.ts";
import { apiVersionOf, findLive, textAt, textsAt } from "../objects/read-objects.ts";

/** The field manager of what definitions bring: CRDs and roles. */
export const DEFINITION_MANAGER = "apiextensions.crossplane.io/definition";

const CRD = { apiVersion: apiVersionOf(CRDS), kind: CRDS.kind } as const;

/** How far a CRD is. */
export type CrdState =
  | { readonly is: "established"; readonly crd: LiveObject }
  /** The server is not serving it yet; that takes some milliseconds. */
  | { readonly is: "pending"; readonly message: string }
  /** Somebody has deleted it. It goes when its instances have gone, and is made anew then. */
  | { readonly is: "going" }
  /** It cannot be what the definition says. */
  | { readonly is: "refused"; readonly reason: string; readonly message: string };

/** A CRD as the server has it now; undefined if there is none. */
export function findCrd(context: Context, name: string, signal: AbortSignal): Promise<LiveObject | undefined> {
  return findLive(context, { ...CRD, name }, signal);
}

/**
 * Makes a CRD what its definition says. Nothing is written if it is so already; a CRD that another controls, or nobody, is left
 * alone: it may have instances, which a new schema would break.
 */
export async function ensureCrd(
  context: Context,
  applied: AppliedMemory,
  definition: LiveObject,
  desired: KubernetesObject,
  signal: AbortSignal,
): Promise<CrdState> {
  const { name = "" } = textsAt(desired, "metadata");
  let crd = await findCrd(context, name, signal);
  if (crd !== undefined && !mayHave(definition, crd)) return { is: "refused", ...describeOwner(crd) };
  if (crd?.metadata["deletionTimestamp"] !== undefined) {
    return { is: "going" };
  }
  try {
    const options = { fieldManager: DEFINITION_MANAGER, signal };
    const { object, written } = await applied.apply(context.client, labelled(desired), crd, options);
    crd = object;
    if (written) context.client.forgetKinds();
  } catch (error) {
    if (!isApiError(error, "Invalid", "Forbidden")) throw error;
    return { is: "refused", reason: "CannotApplyCRD", message: error.message };
  }
  return stateOf(crd);
}

function labelled(desired: KubernetesObject): KubernetesObject {
  const labels = { ...desired.metadata?.labels, [LABEL_DEFINED]: "true" };
  return { ...desired, metadata: { ...desired.metadata, labels } };
}

/**
 * Whether the CRD is the definition's own, or was of one that had its name: of one that was deleted and left its CRD (then it
 * has no controller any more, but says that a definition made it), or of one that a restore brought back with another UID.
 */
function mayHave(definition: LiveObject, crd: LiveObject): boolean {
  const owner = controllerOf(crd);
  if (owner === undefined) return appliedFields(crd, DEFINITION_MANAGER, "") !== undefined;
  if (owner.uid === definition.metadata.uid) return true;
  const isDefinition = owner.kind === DEFINITIONS.kind && owner.apiVersion.startsWith(`${DEFINITIONS.group}/`);
  return isDefinition && owner.name === definition.metadata.name;
}

function describeOwner(crd: LiveObject): { reason: string; message: string } {
  const owner = controllerOf(crd);
  const whose = owner === undefined ? "is not controlled by any definition" : `is that of ${owner.kind} ${owner.name}`;
  const way =
    owner === undefined
      ? `delete it, or make this definition its controller (metadata.ownerReferences)`
      : "choose other names, or delete that one";
  return {
    reason: "CRDOfAnother",
    message: `the CustomResourceDefinition ${crd.metadata.name} ${whose} and is left as it is; ${way}`,
  };
}

function stateOf(crd: LiveObject): CrdState {
  const { name } = crd.metadata;
  if (conditionOf(crd, "Established")?.["status"] === "True") return { is: "established", crd };
  const names = conditionOf(crd, "NamesAccepted");
  if (names?.["status"] === "False") {
    const message = `the names of the CustomResourceDefinition ${name} are not accepted: ${textAt(names, "message") ?? "no reason given"}`;
    return { is: "refused", reason: "NamesNotAccepted", message };
  }
  return { is: "pending", message: `the CustomResourceDefinition ${name} is not established yet` };
}
