import type { Definition } from "@xfn/composition/definition";
import { isObject, type JsonObject, sameJson } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, hasCondition, withConditions } from "../objects/conditions.ts";
import type { InstanceProblems } from "../objects/context.ts";
import { claimKindOf, compositeKindOf } from "../objects/definition-kinds.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FINALIZER_DEFINED, FINALIZER_OFFERED, finalizersOf } from "../objects/finalizers.ts";
import { DEFINITIONS, PUBLICATIONS, typeMeta } from "../objects/kinds.ts";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import type { CrdState } from "./definition-crd.ts";
import type { ByInstances, Subject } from "./definition-port.ts";

/** A patch of a definition that must not have changed since it was read. */
export const PATCH: Pick<Action, "as" | "manager"> & { readonly do: "patch"; readonly guard: "version" } = {
  as: "own",
  manager: FIELD_MANAGERS.definition,
  do: "patch",
  guard: "version",
};

/** Plans to set the finalizers that a definition or a publication must still get. @param crds those it must have */
export function planFinalizers({ object, crds }: Pick<Subject, "crds" | "object">): Action | undefined {
  const finalizers = finalizersOf(object);
  const required = [...(crds.composites ? [FINALIZER_DEFINED] : []), ...(crds.claims ? [FINALIZER_OFFERED] : [])];
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

/** Plans the status of an invalid definition. */
export function planInvalid(definition: LiveObject, message: string, now: number): PlannedStatus {
  const condition: Condition = { type: "Established", status: "False", reason: "InvalidDefinition", message };
  return planStatus(definition, { conditions: [condition], controllers: {} }, now);
}

/** The reason of `Established` while a definition is deleted, as in Crossplane. */
export const TERMINATING = "TerminatingCompositeResource";

/** Plans the status of a definition or a publication that is being deleted. */
export function planTerminating(definition: LiveObject, message: string, now: number): Action | undefined {
  const offers = DEFINITIONS.of(definition).spec.claimNames.kind !== undefined;
  const common = { status: "False", message } as const;
  const conditions = [
    ...(definition.kind === PUBLICATIONS.kind ? [] : [{ ...common, type: "Established", reason: TERMINATING }]),
    ...(offers ? [{ ...common, type: "Offered", reason: "TerminatingCompositeResourceClaim" }] : []),
  ];
  return planStatus(definition, { conditions, controllers: {} }, now).action;
}

/** The conditions of a definition, and its served kinds (`status.controllers`). */
export interface DefinitionStatus {
  readonly conditions: readonly Condition[];
  readonly controllers: JsonObject;
}

/** The status of a definition or a publication whose CRDs have these states. */
export function definitionStatus(
  definition: Definition,
  { composites, claims }: ByInstances<CrdState>,
  problems: InstanceProblems,
): DefinitionStatus {
  const claimKind = claimKindOf(definition);
  // Claims depend on composites, so the condition of claims follows: conditions always have the same order.
  const reportsClaims = composites === undefined || composites.is === "established" || composites.is === "refused";
  const conditions = [
    conditionFor("Established", "WatchingCompositeResource", composites, problems.composites),
    reportsClaims ? conditionFor("Offered", "WatchingCompositeResourceClaim", claims, problems.claims) : undefined,
  ].filter((condition) => condition !== undefined);
  const controllers: JsonObject = {
    ...(composites?.is === "established" && { compositeResourceType: typeMeta(compositeKindOf(definition)) }),
    ...(claimKind && claims?.is === "established" && { compositeResourceClaimType: typeMeta(claimKind) }),
  };
  return { conditions, controllers };
}

/**
 * The condition for a CRD of a definition.
 *
 * @param problem why the instances cannot be listed
 * @returns undefined without a CRD, and for a CRD that is about to change its state
 */
function conditionFor(
  type: string,
  reason: string,
  state: CrdState | undefined,
  problem: string | undefined,
): Condition | undefined {
  if (state?.is === "established" && problem !== undefined) {
    const message = `its instances exist, but are not reconciled: ${problem}; the controller needs the verbs get, list and watch`;
    return { type, status: "False", reason: "CannotWatch", message };
  }
  if (state?.is === "established") return { type, status: "True", reason };
  return state?.is === "refused" ? { type, status: "False", reason: state.reason, message: state.message } : undefined;
}
