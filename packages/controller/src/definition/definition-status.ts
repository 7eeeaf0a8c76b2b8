import type { Definition } from "@xfn/composition/definition";
import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import type { Condition } from "../objects/conditions.ts";
import type { InstanceProblems } from "../objects/context.ts";
import { claimKindOf, compositeKindOf } from "../objects/definition-kinds.ts";
import { FINALIZER_DEFINED, FINALIZER_OFFERED, finalizersOf } from "../objects/finalizers.ts";
import { typeMeta } from "../objects/kinds.ts";
import type { CrdState } from "./definition-crd.ts";

/** The finalizers that a definition must still get. */
export function missingFinalizers(object: LiveObject, definition: Definition): string[] {
  const existing = finalizersOf(object);
  const required = [FINALIZER_DEFINED, ...(claimKindOf(definition) === undefined ? [] : [FINALIZER_OFFERED])];
  return required.filter((finalizer) => !existing.includes(finalizer));
}

/** The condition of an invalid definition. */
export function invalidCondition(message: string): Condition {
  return { type: "Established", status: "False", reason: "InvalidDefinition", message };
}

/** The conditions of a definition, and its served kinds (`status.controllers`). */
export interface DefinitionStatus {
  readonly conditions: readonly Condition[];
  readonly controllers: JsonObject;
}

/**
 * The status of a definition with these CRDs.
 *
 * @param claims undefined if the definition offers no claims
 */
export function definitionStatus(
  definition: Definition,
  composites: CrdState,
  claims: CrdState | undefined,
  problems: InstanceProblems,
): DefinitionStatus {
  const established = composites.is === "established";
  const claimKind = claimKindOf(definition);
  // Claims depend on composites, so the condition of claims follows: conditions always have the same order.
  const reportsClaims = claims !== undefined && (established || composites.is === "refused");
  const conditions = [
    conditionFor("Established", "WatchingCompositeResource", composites, problems.composites),
    reportsClaims ? conditionFor("Offered", "WatchingCompositeResourceClaim", claims, problems.claims) : undefined,
  ].filter((condition) => condition !== undefined);
  const controllers: JsonObject = {
    ...(established && { compositeResourceType: typeMeta(compositeKindOf(definition)) }),
    ...(claimKind && claims?.is === "established" && { compositeResourceClaimType: typeMeta(claimKind) }),
  };
  return { conditions, controllers };
}

/**
 * The condition for a CRD of a definition.
 *
 * @param problem why the instances cannot be listed
 * @returns undefined for a CRD that is about to change its state
 */
export function conditionFor(
  type: string,
  reason: string,
  state: CrdState,
  problem: string | undefined,
): Condition | undefined {
  if (state.is === "established" && problem !== undefined) {
    const message = `its instances exist, but are not reconciled: ${problem}; the controller needs the verbs get, list and watch`;
    return { type, status: "False", reason: "CannotWatch", message };
  }
  if (state.is === "established") return { type, status: "True", reason };
  return state.is === "refused" ? { type, status: "False", reason: state.reason, message: state.message } : undefined;
}
