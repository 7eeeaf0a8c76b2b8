import { type JsonObject, type KubernetesObject, sameJson } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import type { Context } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { COMPOSITIONS, REVISIONS, referenceOf } from "../objects/kinds.ts";
import { controllerOf, isBeingDeleted } from "../objects/owner.ts";

/**
 * Whether an earlier Composition of the name left this revision: deleted with orphans, or restored from a backup. XRs
 * may be pinned to it. Compares the content, because any writer can set a label.
 */
export function isOrphan(existing: LiveObject, desired: KubernetesObject, composition: string): boolean {
  const owner = controllerOf(existing);
  const isOfName = owner === undefined || (owner.kind === COMPOSITIONS.kind && owner.name === composition);
  const { revision: _, ...content } = REVISIONS.of(existing).spec.toJSON();
  const { revision: __, ...spec } = REVISIONS.of(desired).spec.toJSON();
  return isOfName && !isBeingDeleted(existing) && sameJson(content, spec);
}

/** Makes the current Composition the controller of a revision, with the number of a new one. */
export async function adoptRevision(
  { client }: Context,
  existing: LiveObject,
  { metadata, ...desired }: KubernetesObject,
  signal: AbortSignal,
): Promise<LiveObject> {
  const { name, resourceVersion } = existing.metadata;
  const { labels = {}, ownerReferences = [] } = metadata ?? {};
  const body: JsonObject = {
    metadata: { resourceVersion, labels, ownerReferences },
    spec: { revision: REVISIONS.of(desired).spec.revision ?? 1 },
  };
  const options = { fieldManager: FIELD_MANAGERS.composition, signal };
  return client.patch(referenceOf(REVISIONS, name), "merge", body, options);
}
