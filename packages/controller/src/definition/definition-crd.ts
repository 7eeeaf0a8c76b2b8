import { isObject, type JsonObject, type JsonValue } from "@xfn/functionio";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import { canonicalJson } from "../canonical-json.ts";
import { conditionOf } from "../conditions.ts";
import type { Context } from "../context.ts";
import { controllerOf } from "../engine/owner.ts";
import { DEFINITIONS } from "../kinds.ts";
import { ownedKeys } from "../owned-fields.ts";
import { findLive, objectAt, textsAt } from "../read-objects.ts";

/** The field manager of what definitions bring: CRDs and roles. */
export const DEFINITION_MANAGER = "apiextensions.crossplane.io/definition";

const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" } as const;

/** How far a CRD is. */
export type CrdState =
  | { readonly is: "established"; readonly crd: LiveObject }
  /** The server is not serving it yet; that takes some milliseconds. */
  | { readonly is: "pending"; readonly message: string }
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
  definition: LiveObject,
  wanted: JsonObject,
  signal: AbortSignal,
): Promise<CrdState> {
  const desired = withServerDefaults(wanted);
  const { name = "" } = textsAt(desired, "metadata");
  let crd = await findCrd(context, name, signal);
  if (crd !== undefined && !mayHave(definition, crd)) return { is: "refused", ...describeOwner(crd) };
  if (crd?.metadata["deletionTimestamp"] !== undefined) {
    return { is: "pending", message: `the CustomResourceDefinition ${name} is being deleted; then it is made anew` };
  }
  if (crd === undefined || !isAsDesired(crd, desired, definition)) {
    try {
      crd = await context.client.apply(desired, { fieldManager: DEFINITION_MANAGER, signal });
    } catch (error) {
      if (!isApiError(error, "Invalid", "Forbidden")) throw error;
      return { is: "refused", reason: "CannotApplyCRD", message: error.message };
    }
    context.client.forgetKinds();
  }
  return stateOf(crd);
}

/** Whether the CRD is the definition's own, or was of one that had its name: after a restore, or where the CRD was orphaned. */
function mayHave(definition: LiveObject, crd: LiveObject): boolean {
  const owner = controllerOf(crd);
  if (owner?.uid === definition.metadata.uid) return true;
  return (
    owner !== undefined &&
    owner.kind === DEFINITIONS.kind &&
    owner.apiVersion.startsWith(`${DEFINITIONS.group}/`) &&
    owner.name === definition.metadata.name
  );
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

/** What the server fills in (Kubernetes, "CustomResourceDefinition v1"): with it, what it holds can be compared. */
function withServerDefaults(crd: JsonObject): JsonObject {
  const spec = objectAt(crd, "spec");
  const names = objectAt(spec, "names");
  const { kind = "" } = textsAt(names);
  return {
    ...crd,
    spec: {
      ...spec,
      names: {
        ...names,
        singular: names["singular"] ?? kind.toLowerCase(),
        listKind: names["listKind"] ?? `${kind}List`,
      },
      conversion: spec["conversion"] ?? { strategy: "None" },
    },
  };
}

function isAsDesired(crd: LiveObject, desired: JsonObject, definition: LiveObject): boolean {
  const { conversion, ...spec } = objectAt(desired, "spec");
  const { conversion: has, ...hasSpec } = objectAt(crd, "spec");
  return (
    controllerOf(crd)?.uid === definition.metadata.uid &&
    canonicalJson(spec) === canonicalJson(hasSpec) &&
    // Others may add to it: cert-manager injects the CA of the webhook.
    covers(has ?? null, conversion ?? null) &&
    ["labels", "annotations"].every((field) => {
      const wanted = objectAt(desired, "metadata", field);
      const applied = ownedKeys(crd, DEFINITION_MANAGER, "metadata", field);
      return covers(objectAt(crd, "metadata", field), wanted) && applied.every((key) => Object.hasOwn(wanted, key));
    })
  );
}

/** Whether an object has all that another has, and perhaps more. */
function covers(has: JsonValue, wanted: JsonValue): boolean {
  if (!isObject(has) || !isObject(wanted)) return canonicalJson(has) === canonicalJson(wanted);
  return Object.keys(wanted).every((key) => Object.hasOwn(has, key) && covers(has[key] ?? null, wanted[key] ?? null));
}

function stateOf(crd: LiveObject): CrdState {
  const { name } = crd.metadata;
  if (conditionOf(crd, "Established")?.["status"] === "True") return { is: "established", crd };
  const names = conditionOf(crd, "NamesAccepted");
  if (names?.["status"] === "False") {
    const message = `the names of the CustomResourceDefinition ${name} are not accepted: ${String(names["message"])}`;
    return { is: "refused", reason: "NamesNotAccepted", message };
  }
  return { is: "pending", message: `the CustomResourceDefinition ${name} is not established yet` };
}
