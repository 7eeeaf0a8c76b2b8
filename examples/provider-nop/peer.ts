import { objectAt, objectsAt, textAt } from "@xfn/json";
import type { Client, Informer, LiveObject } from "@xfn/kubernetes";
import { type ReferenceField, ReferenceResolutionError, resolveReferences } from "@xfn/kubernetes/references";
import { API_VERSION } from "./nop-resource.ts";

/**
 * Gives `spec.forProvider.peer` the external name of the resource that `peerRef` names or `peerSelector` selects. A
 * resource without an external name has its own.
 *
 * @param now - milliseconds since the epoch
 * @returns undefined if there is no such resource yet, which the condition Synced reports
 */
export async function resolvePeer(
  client: Client,
  resource: LiveObject,
  resources: Pick<Informer, "kind" | "cache">,
  now: number,
): Promise<LiveObject | undefined> {
  const peer: ReferenceField = {
    path: ["spec", "forProvider", "peer"],
    target: resources,
    value: ({ metadata }) => metadata.annotations?.["crossplane.io/external-name"] ?? metadata.name,
  };
  try {
    return await resolveReferences(client, resource, [peer]);
  } catch (error) {
    if (!(error instanceof ReferenceResolutionError)) throw error;
    const { code: reason, message } = error;
    await report(client, resource, { reason, message }, now);
    return undefined;
  }
}

async function report(
  client: Client,
  resource: LiveObject,
  { reason, message }: { reason: string; message: string },
  now: number,
): Promise<void> {
  const conditions = objectsAt(objectAt(resource, "status"), "conditions");
  const current = conditions.find(({ type }) => type === "Synced");
  if (current !== undefined && textAt(current, "message") === message) return;
  const lastTransitionTime = new Date(now).toISOString();
  const synced = { type: "Synced", status: "False", reason, message, lastTransitionTime };
  const others = conditions.filter(({ type }) => type !== "Synced");
  const reference = { apiVersion: API_VERSION, kind: "NopResource", name: resource.metadata.name };
  await client.patch(reference, "merge", { status: { conditions: [...others, synced] } }, { subresource: "status" });
}
