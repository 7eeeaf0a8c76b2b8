import { isApiError, type LiveObject } from "@xfn/kubernetes";
import { refused } from "../objects/composite-error.ts";
import { controllerOf } from "../objects/owner.ts";
import { describeReference, referenceTo } from "../objects/references.ts";
import { readLive, tell, type Work } from "./reconcile-context.ts";

/** What became of a deletion: it is under way, there is nothing (any more), or the object is not ours to delete. */
export type Deletion = "going" | "gone" | "kept";

/**
 * Deletes an object that the XR controls. UID and resource version are the precondition, so that what was judged is what is
 * deleted: an object that has changed since, in another's hands perhaps, is read live and judged again.
 *
 * @throws {CompositeError} if the server refuses
 */
export async function deleteComposed(
  work: Work,
  known: LiveObject,
  propagationPolicy: "Background" | "Foreground" = "Background",
): Promise<Deletion> {
  const reference = referenceTo(known);
  let object: LiveObject | undefined = known;
  try {
    // Once more after a conflict: what was known is a moment old.
    for (const last of [false, true]) {
      if (object === undefined) return gone(work, known);
      if (object.metadata["deletionTimestamp"] !== undefined) return "going";
      if (controllerOf(object)?.uid !== work.xr.metadata.uid) return kept(work, object);
      try {
        return await deleteJudged(work, object, propagationPolicy);
      } catch (error) {
        if (!isApiError(error, "Conflict") || last) throw error;
        object = await readLive(work, reference);
      }
    }
  } catch (error) {
    throw isApiError(error, "Conflict")
      ? error
      : refused(error, `cannot delete ${describeReference(reference)}`, false);
  }
  return "going";
}

async function deleteJudged(
  work: Work,
  object: LiveObject,
  propagationPolicy: "Background" | "Foreground",
): Promise<Deletion> {
  const { uid, resourceVersion } = object.metadata;
  try {
    const left = await work.context.client.delete(referenceTo(object), {
      preconditions: { uid, resourceVersion },
      propagationPolicy,
      signal: work.signal,
    });
    work.wrote = true;
    // Nothing is applied to it any more, however long it stays.
    work.memory.applied.forget(uid);
    if (left?.metadata["deletionTimestamp"] !== undefined) work.memory.own.saw(left);
    else work.memory.own.sawGone(uid);
    return "going";
  } catch (error) {
    if (isApiError(error, "NotFound")) return gone(work, object);
    throw error;
  }
}

function gone(work: Work, { metadata }: LiveObject): Deletion {
  work.memory.own.sawGone(metadata.uid);
  work.memory.applied.forget(metadata.uid);
  return "gone";
}

function kept(work: Work, object: LiveObject): Deletion {
  const title = describeReference(referenceTo(object));
  tell(work, "Warning", "ComposeResources", `${title} is not controlled by this resource; it is not deleted`);
  return "kept";
}
