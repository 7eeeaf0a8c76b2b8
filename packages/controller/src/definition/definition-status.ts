import type { Definition } from "@xfn/composition/definition";
import { isObject, type JsonObject, sameJson } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, hasCondition, withConditions } from "../objects/conditions.ts";
import type { InstanceProblems } from "../objects/context.ts";
import { claimKindOf, compositeKindOf } from "../objects/definition-kinds.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FINALIZER_DEFINED, FINALIZER_OFFERED, finalizersOf } from "../objects/finalizers.ts";
import { DEFINITIONS, typeMeta } from "../objects/kinds.ts";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import type { CrdState } from "./definition-crd.ts";

/** A patch of a definition that must not have changed since it was read. */
export const PATCH: Pick<Action, "as" | "manager"> & { readonly do: "patch"; readonly guard: "version" } = {
  as: "own",
  manager: FIELD_MANAGERS.definition,
  do: "patch",
  guard: "version",
};

/** Plans to set the finalizers that a definition must still get. */
export function planFinalizers(object: LiveObject, { spec }: Pick<Definition, "spec">): Action | undefined {
  const finalizers = finalizersOf(object);
  const required = [FINALIZER_DEFINED, ...(spec.claimNames === undefined ? [] : [FINALIZER_OFFERED])];
  const missing = required.filter((finalizer) => !finalizers.includes(finalizer));
  if (missing.length === 0) return undefined;
  const body = { metadata: { finalizers: [...finalizers, ...missing] } };
  return { ...PATCH, on: referenceTo(object), why: "it lacks finalizers", body, seen: object };
}

/** The planned status of a definition. */
export interface PlannedStatus {
  /** Undefined if nothing changes. */
  readonly action: Action | undefined;
  /** The conditions that change. */
  readonly news: readonly Condition[];
}

/** Plans to set conditions and the reconciled kinds (`status.controllers`) if they differ. */
export function planStatus(
  definition: LiveObject,
  { conditions: wanted, controllers }: DefinitionStatus,
  now: number,
): PlannedStatus {
  const conditions = withConditions(definition, wanted, now);
  const news = wanted.filter((condition) => !hasCondition(definition, condition));
  const before = DEFINITIONS.of(definition).status.controllers.toJSON();
  const isSame = Object.keys(controllers).every((key) => {
    const current = before[key];
    return isObject(current) && sameJson(current, controllers[key] ?? null);
  });
  if (conditions === undefined && isSame) return { action: undefined, news };
  const body = { status: { ...(conditions !== undefined && { conditions }), ...(!isSame && { controllers }) } };
  const why = "its conditions or its kinds differ";
  return { action: { ...PATCH, on: referenceTo(definition), part: "status", why, body, seen: definition }, news };
}

/** The status of an invalid definition. */
export function invalidStatus(message: string): DefinitionStatus {
  const condition: Condition = { type: "Established", status: "False", reason: "InvalidDefinition", message };
  return { conditions: [condition], controllers: {} };
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
