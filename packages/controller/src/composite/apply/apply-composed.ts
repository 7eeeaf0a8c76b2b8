import { LABEL_CLAIM_NAME } from "@xfn/composition";
import { type KubernetesObject, textAt } from "@xfn/json";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import { isDerivedName } from "@xfn/pipeline";
import { digestOf } from "../../objects/apply-cache.ts";
import { asCompositeError, CompositeError } from "../../objects/composite-error.ts";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { isSecret } from "../../objects/kinds.ts";
import { controllerOf } from "../../objects/owner.ts";
import { describeReference, objectKey, referenceTo } from "../../objects/references.ts";
import { emitAdoption } from "../state/emit-events.ts";
import { applyChanged, type ReconcileContext, readLive } from "../state/reconcile-context.ts";
import { type Applicable, applyTitle } from "./check-applicable.ts";
import { describeFight } from "./describe-fight.ts";
import { takeOverFields } from "./take-over-fields.ts";

/**
 * Applies a composed resource if that changes it. A new one with a name chosen by its author is read live first, so
 * that the object of another controller is not overwritten.
 *
 * @returns the object after the apply
 * @throws {CompositeError} if the server refuses, or another owner controls the object
 * @throws {ApiError} `Conflict` if the object was replaced or deleted
 */
export async function applyComposed(
  context: ReconcileContext,
  { entry, intent, observed }: Applicable,
): Promise<LiveObject> {
  const { actors } = context;
  const existing =
    observed ??
    (hasDerivedName(context, entry, intent)
      ? undefined
      : await readLive(context, actors.composition, referenceTo(intent)));
  requireControllable(context, entry, existing);
  const isAdopted = existing !== undefined && controllerOf(existing) === undefined;
  try {
    const current = existing && (await takeOverFields(context, existing));
    const object = await applyUnlessFought(context, intent, current);
    // A write that is held back adopts nothing.
    if (isAdopted && controllerOf(object) !== undefined)
      emitAdoption(context, `composed resource ${JSON.stringify(entry)}`, object);
    return object;
  } catch (error) {
    if (isApiError(error, "Conflict")) throw error;
    // The server refuses a second controller as invalid: another writer was faster, or made an object of this name.
    if (isApiError(error, "Invalid"))
      requireControllable(context, entry, await readLive(context, actors.composition, referenceTo(intent)));
    throw asCompositeError(error, applyTitle(entry), isSecret(intent), describeReference(referenceTo(intent)));
  }
}

/** @throws {CompositeError} `NotControllable` */
function requireControllable({ xr }: ReconcileContext, entry: string, existing: LiveObject | undefined): void {
  const controller = existing && controllerOf(existing);
  const claim =
    existing && (textAt(existing, "spec", "claimRef", "name") ?? textAt(existing, "spec", "requirementRef", "name"));
  // A composed XR has none of these. PersistentVolumes have one, without the label.
  if (existing && !controller && claim !== undefined && existing.metadata.labels?.[LABEL_CLAIM_NAME] !== undefined) {
    throw new CompositeError(
      "NotControllable",
      `${applyTitle(entry)}: it belongs to the claim or requirement ${claim}; give it another name (${describeReference(referenceTo(existing))})`,
    );
  }
  if (existing === undefined || controller === undefined || controller.uid === xr.metadata.uid) return;
  throw new CompositeError(
    "NotControllable",
    `${applyTitle(entry)}: it belongs to ${controller.kind} ${controller.name}; give it another name (${describeReference(referenceTo(existing))})`,
  );
}

/** Applies an intent, unless the circuit breaker holds it back: another writer changes the object back. */
async function applyUnlessFought(
  context: ReconcileContext,
  intent: KubernetesObject,
  current: LiveObject | undefined,
): Promise<LiveObject> {
  const { actors, memory, progress } = context;
  const { fights, applies } = memory;
  const options = { fieldManager: FIELD_MANAGERS.composed };
  const key = objectKey(referenceTo(intent));
  const isApplied = current !== undefined && applies.isApplied(intent, current, options);
  const fight = fights.describe(key, current && !isApplied ? () => describeFight(intent, current) : undefined);
  if (fight !== undefined) context.fights.push(fight);
  if (isApplied) return current;
  const digest = digestOf(intent);
  const waitMs = fights.waitMs(key, digest);
  if (current !== undefined && waitMs > 0) {
    progress.slowedMs = Math.min(waitMs, progress.slowedMs ?? waitMs);
    return current;
  }
  const { object } = await applyChanged(context, actors.composition, intent, current, options);
  // A refused write is no fight: the queue slows it, and it must stay a failure.
  fights.wrote(key, digest);
  return object;
}

/** A name that the controller made from the XR's UID and the entry belongs to no other object. */
function hasDerivedName({ xr }: ReconcileContext, entry: string, { metadata }: KubernetesObject): boolean {
  return isDerivedName(metadata?.name ?? "", xr.metadata.uid, entry);
}
