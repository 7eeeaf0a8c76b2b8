import { isApiError, type LiveObject } from "@xfn/kubernetes";
import { asCompositeError } from "../../objects/composite-error.ts";
import { isBeingDeleted, isControlledBy } from "../../objects/owner.ts";
import { describeReference, referenceTo } from "../../objects/references.ts";
import { emitEvent } from "../state/emit-events.ts";
import { type ReconcileContext, readLive } from "../state/reconcile-context.ts";

/** The result of a deletion. An object that the XR does not control is `retained`. */
export type Deletion = "deleting" | "deleted" | "retained";

type PropagationPolicy = "Background" | "Foreground";

/**
 * Deletes an object that the XR controls. Its UID and resource version are preconditions, so that the deleted object
 * is the one that was checked. After a conflict it is read live and checked once more: it may have another controller
 * by now.
 *
 * @throws {CompositeError} if the server refuses
 * @throws {ApiError} `Conflict` if it changed again
 */
export async function deleteComposed(
  context: ReconcileContext,
  known: LiveObject,
  policy: PropagationPolicy = "Background",
): Promise<Deletion> {
  const reference = referenceTo(known);
  try {
    try {
      return await deleteChecked(context, known, policy);
    } catch (error) {
      if (!isApiError(error, "Conflict")) throw error;
    }
    const live = await readLive(context, context.actors.composition, reference);
    return live === undefined ? forget(context, known) : await deleteChecked(context, live, policy);
  } catch (error) {
    if (isApiError(error, "Conflict")) throw error;
    throw asCompositeError(error, `cannot delete ${describeReference(reference)}`, false);
  }
}

async function deleteChecked(
  context: ReconcileContext,
  object: LiveObject,
  propagationPolicy: PropagationPolicy,
): Promise<Deletion> {
  const { actors, memory, progress, signal, xr } = context;
  if (isBeingDeleted(object)) return "deleting";
  if (!isControlledBy(object, xr)) {
    const title = describeReference(referenceTo(object));
    emitEvent(context, "Warning", `${title} is not controlled by this resource; it is not deleted`);
    return "retained";
  }
  const { uid, resourceVersion } = object.metadata;
  try {
    const remaining = await actors.composition.client.delete(referenceTo(object), {
      preconditions: { uid, resourceVersion },
      propagationPolicy,
      signal,
    });
    progress.hasWritten = true;
    if (remaining === undefined || !isBeingDeleted(remaining)) forget(context, object);
    else {
      memory.applies.forget(uid);
      memory.writes.saw(remaining);
    }
    return "deleting";
  } catch (error) {
    if (isApiError(error, "NotFound")) return forget(context, object);
    throw error;
  }
}

function forget({ memory }: ReconcileContext, { metadata }: LiveObject): Deletion {
  memory.writes.sawGone(metadata.uid);
  memory.applies.forget(metadata.uid);
  return "deleted";
}
