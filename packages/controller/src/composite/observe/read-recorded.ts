import { LABEL_COMPOSITE } from "@xfn/composition";
import type { LiveObject, ObjectReference, ResourceKind } from "@xfn/kubernetes";
import { isControlledBy, isOfPredecessor } from "../../objects/owner.ts";
import type { ReconcileReader } from "../state/reconcile-reader.ts";

/**
 * Reads an object that an XR has recorded; undefined if it does not exist.
 *
 * Other implementations record no namespace, and a kind may return with another scope. The kind's current scope
 * decides: a superfluous namespace is ignored, and if a required one is missing, the XR's own object of that name is
 * found by its label. A namespaced XR composes no cluster-scoped objects.
 *
 * @throws {ApiError} if it cannot be read
 */
export async function readRecorded(
  reader: ReconcileReader,
  xr: LiveObject,
  kind: ResourceKind,
  { namespace, ...reference }: ObjectReference,
): Promise<LiveObject | undefined> {
  if (!kind.namespaced) return xr.metadata.namespace === undefined ? reader.readKnown(kind, reference) : undefined;
  if (namespace !== undefined) return reader.readKnown(kind, { ...reference, namespace });
  const { name, labels } = xr.metadata;
  const labelSelector = `${LABEL_COMPOSITE}=${labels?.[LABEL_COMPOSITE] ?? name}`;
  const items = await reader.listOf(kind, labelSelector);
  return items.find(
    (one) => one.metadata.name === reference.name && (isControlledBy(one, xr) || isOfPredecessor(one, xr)),
  );
}
