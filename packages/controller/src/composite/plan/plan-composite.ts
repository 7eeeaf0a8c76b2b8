import { machineryOf } from "@xfn/composition";
import { textAt } from "@xfn/json";
import type { ApiError, LiveObject, ObjectReference } from "@xfn/kubernetes";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { referenceTo } from "../../objects/references.ts";
import type { Action } from "../../plan/action.ts";
import { type Plan, planInOrder } from "../../plan/plan.ts";
import type { ObservedComposed } from "../observe/observe-composed.ts";
import type { ActorName } from "../state/composite-actors.ts";
import type { CompositeMemory } from "../state/composite-memory.ts";
import type { Applicables } from "./applicable.ts";
import { type CompositeIntentInput, compositeIntent } from "./composite-intent.ts";
import { type DeletionPlan, planDeletion } from "./plan-deletion.ts";
import { type PlannedEntry, planEntry } from "./plan-entry.ts";
import { takeOverXr } from "./take-over-xr.ts";

/** The input that determines the writes of a reconcile after its run. */
export interface CompositeInput extends Omit<CompositeIntentInput, "references"> {
  readonly observed: ObservedComposed;
  readonly applicables: Applicables;
  /** The objects with the resources' names, or the errors of reading them, by entry. */
  readonly located: ReadonlyMap<string, LiveObject | ApiError>;
  /** The objects of entries that are no longer desired. */
  readonly undesired: readonly LiveObject[];
  readonly memory: Pick<CompositeMemory, "applies" | "fights">;
}

/** The writes of a reconcile of an XR after its run. */
export interface CompositePlan extends Plan<ActorName> {
  /** The objects that the XR records. Their kinds are watched before the objects exist, so that no event is missed. */
  readonly references: readonly ObjectReference[];
  readonly entries: readonly PlannedEntry[];
  readonly deletion: DeletionPlan;
}

/**
 * Plans to record, apply and delete the objects of a run.
 *
 * The order makes a crash at any point safe. The finalizer and the references are written before an object is created,
 * so that the controller finds every object again. Nothing is deleted before everything else has succeeded.
 */
export function planComposite(input: CompositeInput): CompositePlan {
  const { xr, applicables, observed, located, memory } = input;
  const resources = [...applicables.resources.values()];
  const references = [...observed.references, ...resources.map(({ intent }) => referenceTo(intent))];
  const entries = resources.map((resource) => planEntry(xr, resource, located.get(resource.entry), memory));
  const isRefused = applicables.refused.size > 0 || entries.some(({ refusal }) => refusal !== undefined);
  const deletion = planDeletion(xr, isRefused ? [] : input.undesired);
  const deletes = deletion.stages.some(({ actions }) => actions.length > 0);
  const needsRecord = deletes || resources.some((one) => one.observed === undefined);
  return {
    references,
    entries,
    deletion,
    stages: [
      { name: "record", actions: recordActions({ ...input, references }, needsRecord), onFailure: "stop" },
      { name: "apply", actions: entries.flatMap(({ actions }) => actions), onFailure: "collect" },
      ...deletion.stages.map((stage) => ({ ...stage, needs: "no failure" as const })),
    ],
  };
}

/**
 * Plans to record the selected revision before the run if the update policy is Manual. Otherwise an XR whose first runs
 * fail would follow a newer revision.
 */
export function planPin(input: CompositeIntentInput & Pick<CompositeInput, "memory">): Plan<ActorName> {
  const { changes, layout, xr } = input;
  const policy = changes["compositionUpdatePolicy"] ?? textAt(machineryOf(xr, layout), "compositionUpdatePolicy");
  if (policy !== "Manual" || changes["compositionRevisionRef"] === undefined) return { stages: [] };
  return planSelection(input);
}

/** Plans to record the selected Composition and revision. */
export function planSelection(input: CompositeIntentInput & Pick<CompositeInput, "memory">): Plan<ActorName> {
  return planInOrder("selection", recordActions(input, false));
}

/**
 * Writes the XR if that changes it. Otherwise, requires that the XR on the server is unchanged. A create needs its
 * reference on the server, not only in a cached copy. A deletion needs the current XR to lack the entry.
 */
function recordActions(
  { memory, ...input }: CompositeIntentInput & Pick<CompositeInput, "memory">,
  needsRecord: boolean,
): Action<ActorName>[] {
  const { xr } = input;
  const intent = compositeIntent(input);
  const manager = FIELD_MANAGERS.xr;
  const common = { as: "xr", on: referenceTo(xr), manager, seen: xr } as const;
  const taken = takeOverXr(xr);
  const before = taken === undefined ? [] : [taken.action];
  if (!memory.applies.isApplied(intent, taken?.object ?? xr, { fieldManager: manager }))
    return [...before, { ...common, do: "apply", intent, guard: "version", why: "the XR records what it composes" }];
  return needsRecord && before.length === 0
    ? [{ ...common, do: "confirm", why: "objects are created or deleted" }]
    : before;
}
