import { LABEL_COMPOSITE } from "@xfn/composition";
import type { LiveObject, ObjectReference, ResourceKind } from "@xfn/kubernetes";
import { isControlledBy } from "../../objects/owner.ts";
import { type ReconcileContext, readKnown } from "../state/reconcile-context.ts";

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
  context: Pick<ReconcileContext, "actors" | "memory" | "progress" | "signal" | "xr">,
  kind: ResourceKind,
  { namespace, ...reference }: ObjectReference,
): Promise<LiveObject | undefined> {
  const { actors, signal, xr } = context;
  const actor = actors.composition;
  if (!kind.namespaced)
    return xr.metadata.namespace === undefined ? readKnown(context, actor, kind, reference) : undefined;
  if (namespace !== undefined) return readKnown(context, actor, kind, { ...reference, namespace });
  const { name, labels } = xr.metadata;
  const labelSelector = `${LABEL_COMPOSITE}=${labels?.[LABEL_COMPOSITE] ?? name}`;
  const { items } = await actor.client.list(kind, { labelSelector, signal });
  return items.find((one) => one.metadata.name === reference.name && isControlledBy(one, xr));
}
