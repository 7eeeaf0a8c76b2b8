import { LABEL_COMPOSITE } from "@xfn/composition";
import type { LiveObject, ObjectReference, ResourceKind } from "@xfn/kubernetes";
import { isControlledBy } from "../../objects/owner.ts";
import { type ReconcileContext, readKnown } from "../state/reconcile-context.ts";

/**
 * Reads an object that an XR has recorded; undefined if it does not exist.
 *
 * Other implementations record no namespace, and a kind may return with another scope. The kind's current scope
 * decides: a superfluous namespace is ignored, and without a required one, the XR's own object of that name is
 * searched by its label. A namespaced XR composes nothing that is cluster-scoped.
 *
 * @throws {ApiError} if it cannot be read
 */
export async function readRecorded(
  context: ReconcileContext,
  kind: ResourceKind,
  { namespace, ...reference }: ObjectReference,
): Promise<LiveObject | undefined> {
  if (!kind.namespaced) {
    return context.xr.metadata.namespace === undefined ? readKnown(context, kind, reference) : undefined;
  }
  if (namespace !== undefined) return readKnown(context, kind, { ...reference, namespace });
  const { xr, client, signal } = context;
  const { name, labels } = xr.metadata;
  const labelSelector = `${LABEL_COMPOSITE}=${labels?.[LABEL_COMPOSITE] ?? name}`;
  const { items } = await client.list(kind, { labelSelector, signal });
  return items.find((one) => one.metadata.name === reference.name && isControlledBy(one, xr));
}
