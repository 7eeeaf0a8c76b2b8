import type { JsonObject, KubernetesObject } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import type { Context } from "../objects/context.ts";
import { COMPOSITIONS, REVISIONS } from "../objects/kinds.ts";
import { controllerOf } from "../objects/owner.ts";
import { apiVersionOf, objectAt } from "../objects/read-objects.ts";
import { sameJson } from "../objects/same-json.ts";

/** The field manager of revisions, and of the conditions of compositions. */
export const MANAGER = "apiextensions.crossplane.io/composition";

/**
 * Whether a revision is one that an earlier Composition of the name left: deleted as an orphan, or brought back by a restore.
 * XRs may be pinned to it. What it says is compared, since anybody can write a label.
 */
export function isLeftOver(existing: LiveObject, wanted: KubernetesObject, composition: string): boolean {
  const owner = controllerOf(existing);
  const isOfName = owner === undefined || (owner.kind === COMPOSITIONS.kind && owner.name === composition);
  const { revision: _, ...has } = objectAt(existing, "spec");
  const { revision: __, ...spec } = objectAt(wanted, "spec");
  return isOfName && existing.metadata["deletionTimestamp"] === undefined && sameJson(has, spec);
}

/** Makes it one of the Composition that is there now, with the number that a new one would have. */
export async function adopt(
  { client }: Context,
  existing: LiveObject,
  { metadata, ...wanted }: KubernetesObject,
  signal: AbortSignal,
): Promise<LiveObject> {
  const { name, resourceVersion } = existing.metadata;
  const { labels = {}, ownerReferences = [] } = metadata ?? {};
  const body: JsonObject = {
    metadata: { resourceVersion, labels, ownerReferences },
    spec: { revision: objectAt(wanted, "spec")["revision"] ?? 1 },
  };
  const reference = { apiVersion: apiVersionOf(REVISIONS), kind: REVISIONS.kind, name };
  return client.patch(reference, "merge", body, { fieldManager: MANAGER, signal });
}
