import { machineryOf } from "@xfn/composition";
import { textAt } from "@xfn/json";
import { ApiError, type LiveObject, type ObjectReference } from "@xfn/kubernetes";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { isBeingDeleted, isControlledBy } from "../../objects/owner.ts";
import { referenceTo } from "../../objects/references.ts";
import type { ObservedComposed } from "../observe/observe-composed.ts";
import { applyChanged, type ReconcileContext, readLive } from "../state/reconcile-context.ts";
import type { Applicable } from "./check-applicable.ts";
import { type CompositeIntentInput, compositeIntent } from "./composite-intent.ts";

/** Input of {@link recordReferences}. */
export interface RecordInput extends Omit<CompositeIntentInput, "xr" | "layout" | "references" | "secretsNamespace"> {
  readonly observed: ObservedComposed;
  readonly resources: readonly Applicable[];
  /** The objects to delete after this write. */
  readonly undesired: readonly LiveObject[];
}

/**
 * Writes the XR: its finalizer, its references, the selected revision, and what functions desire of it.
 *
 * @throws {ApiError} `Conflict` if the XR has changed since it was read. Otherwise two processes could remove each
 *   other's references, and leave objects that no reconcile finds
 */
export async function recordReferences(context: ReconcileContext, input: RecordInput): Promise<void> {
  const { observed, resources, undesired, ...rest } = input;
  const { xr, layout, namespace: secretsNamespace } = context;
  const references = [...observed.references, ...resources.map(({ intent }) => referenceTo(intent))];
  await watchKinds(context, references);
  const intent = compositeIntent({ ...rest, xr, layout, references, secretsNamespace });
  const { object, written } = await applyChanged(context, context.actors.xr, intent, xr, {
    fieldManager: FIELD_MANAGERS.composite,
    onlyIfUnchanged: true,
  });
  context.xr = object;
  if (written) return;
  const deletes = undesired.some((one) => !isBeingDeleted(one) && isControlledBy(one, xr));
  if (deletes || resources.some((one) => one.observed === undefined)) await requireFresh(context);
}

/**
 * Records the selected revision before the run if the update policy is Manual. Otherwise an XR whose first runs fail
 * would follow a newer revision.
 *
 * @throws {ApiError} `Conflict` if the XR has changed since it was read
 */
export async function pinRevision(
  context: ReconcileContext,
  input: Omit<CompositeIntentInput, "xr" | "layout" | "secretsNamespace">,
): Promise<void> {
  const { xr, layout, namespace: secretsNamespace } = context;
  const policy = input.changes["compositionUpdatePolicy"] ?? textAt(machineryOf(xr, layout), "compositionUpdatePolicy");
  if (policy !== "Manual" || input.changes["compositionRevisionRef"] === undefined) return;
  const intent = compositeIntent({ ...input, xr, layout, secretsNamespace });
  const options = { fieldManager: FIELD_MANAGERS.composite, onlyIfUnchanged: true };
  context.xr = (await applyChanged(context, context.actors.xr, intent, xr, options)).object;
}

/** Starts the watches before the objects exist, so that no event is missed. */
async function watchKinds(
  { actors: { xr }, memory }: ReconcileContext,
  references: readonly ObjectReference[],
): Promise<void> {
  const kinds = await Promise.all(
    references.map(({ apiVersion, kind }) => xr.client.kind(apiVersion, kind).catch(() => undefined)),
  );
  xr.composed?.watch(
    memory.uid,
    kinds.filter((kind) => kind !== undefined),
  );
}

/**
 * A create needs its reference on the server, not only in a cached copy; a delete needs the current XR to lack the
 * entry.
 *
 * @throws {ApiError} `Conflict`
 */
async function requireFresh(context: ReconcileContext): Promise<void> {
  const { xr } = context;
  const live = await readLive(context, context.actors.xr, referenceTo(xr));
  if (live?.metadata.uid === xr.metadata.uid && live.metadata.resourceVersion === xr.metadata.resourceVersion) return;
  throw new ApiError("Conflict", `${xr.kind} ${xr.metadata.name} has changed since it was read`);
}
