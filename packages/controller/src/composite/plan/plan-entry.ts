import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { digestOf } from "../../objects/apply-cache.ts";
import type { CompositeError } from "../../objects/composite-error.ts";
import { composedManager } from "../../objects/field-managers.ts";
import { controllerOf } from "../../objects/owner.ts";
import { objectKey, referenceTo } from "../../objects/references.ts";
import type { Action } from "../../plan/action.ts";
import type { ActorName } from "../state/composite-actors.ts";
import type { CompositeMemory } from "../state/composite-memory.ts";
import type { Applicable } from "./applicable.ts";
import { describeFight } from "./describe-fight.ts";
import { ownershipProblem } from "./ownership.ts";
import { takeOver } from "./take-over.ts";

/** The plan of a reconcile for one composed resource. */
export interface PlannedEntry extends Applicable {
  /** The object with the resource's name; undefined if it does not exist. */
  readonly existing: LiveObject | undefined;
  /** Empty if the object is as desired, or if its writes are delayed or refused. */
  readonly actions: readonly Action<ActorName>[];
  /** Why nothing is written. An `ApiError` if the object cannot be read. */
  readonly refusal?: CompositeError | ApiError | undefined;
  /** The circuit breaker's state for the object. */
  readonly fight?: Fight | undefined;
}

interface Fight {
  readonly message: string | undefined;
  /** The time until the write may be sent, in milliseconds. */
  readonly waitMs: number | undefined;
}

/**
 * Plans the apply of a composed resource, if that changes it. The circuit breaker delays it while another writer
 * changes the object back.
 *
 * @param located the object with the resource's name, or the error of reading it; undefined if it does not exist
 */
export function planEntry(
  xr: LiveObject,
  resource: Applicable,
  located: LiveObject | ApiError | undefined,
  { applies, fights }: Pick<CompositeMemory, "applies" | "fights">,
): PlannedEntry {
  const { entry, intent } = resource;
  if (located instanceof ApiError) return { ...resource, existing: undefined, actions: [], refusal: located };
  const refusal = ownershipProblem(xr, entry, located);
  if (refusal !== undefined) return { ...resource, existing: located, actions: [], refusal };
  const taken = located && takeOver(xr, located);
  const current = taken?.object ?? located;
  const actions = taken === undefined ? [] : [taken.action];
  const manager = composedManager(xr);
  const isApplied = current !== undefined && applies.isApplied(intent, current, { fieldManager: manager });
  const key = objectKey(referenceTo(intent));
  const message = fights.describe(
    key,
    current && !isApplied ? () => describeFight(intent, current, manager) : undefined,
  );
  const waitMs = isApplied || current === undefined ? 0 : fights.waitMs(key, digestOf(intent));
  if (!isApplied && waitMs === 0) actions.push(applyOf(resource, located, manager));
  return { ...resource, existing: located, actions, fight: { message, waitMs: waitMs === 0 ? undefined : waitMs } };
}

/** Whether an object had no controller before its apply, and has one after it. */
export function isAdoption({ existing }: PlannedEntry, after: LiveObject): boolean {
  return existing !== undefined && controllerOf(existing) === undefined && controllerOf(after) !== undefined;
}

/** The UID prevents the apply from recreating a deleted object, and from changing another object with the same name. */
function applyOf({ entry, intent }: Applicable, seen: LiveObject | undefined, manager: string): Action<ActorName> {
  return {
    do: "apply",
    as: "composition",
    on: referenceTo(intent),
    manager,
    why: seen === undefined ? `${entry} does not exist` : `${entry} differs from what is desired`,
    intent,
    seen,
    guard: "uid",
  };
}
