import { LABEL_COMPOSITE } from "@xfn/composition";
import type { LiveObject, ObjectReference, ResourceKind } from "@xfn/kubernetes";
import { controllerOf } from "../objects/owner.ts";
import { readKnown, type Work } from "./reconcile-context.ts";

/**
 * The object that an XR has recorded, as it is known to be; undefined if there is none.
 *
 * Other implementations record no namespace, and a kind may come back with another scope than it had. A reference is read as its
 * kind is now: where a namespace is missing, what is the XR's and has the name; where one is too many, without it.
 *
 * @throws {ApiError} if it cannot be read
 */
export async function readRecorded(
  work: Work,
  kind: ResourceKind,
  { namespace, ...reference }: ObjectReference,
): Promise<LiveObject | undefined> {
  if (!kind.namespaced) return readKnown(work, kind, reference);
  if (namespace !== undefined) return readKnown(work, kind, { ...reference, namespace });
  const { name, uid, labels } = work.xr.metadata;
  const { items } = await work.context.client.list(kind, {
    labelSelector: `${LABEL_COMPOSITE}=${labels?.[LABEL_COMPOSITE] ?? name}`,
    signal: work.signal,
  });
  return items.find((one) => one.metadata.name === reference.name && controllerOf(one)?.uid === uid);
}
