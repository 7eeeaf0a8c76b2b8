import type { Client, LiveObject } from "@xfn/kubernetes";
import { nopReconciler } from "../../examples/provider-nop/reconcile.ts";
import { faultyClient } from "../harness/faulty-client.ts";
import { NOPS } from "./kinds.ts";
import { at } from "./objects.ts";

/** The item that the provider adds to the field `zones` of NopResources that have it. */
export const PROVIDERS_ZONE = "of the provider";

/** Runs the provider of NopResources once for each of these. Returns the number of writes and of requeues. */
export async function provide(client: Client, resources: readonly LiveObject[]): Promise<number> {
  const byName = new Map(resources.map((one) => [one.metadata.name, one]));
  const counted = faultyClient(client, () => undefined);
  const cache = { get: (name: string) => byName.get(name), list: () => resources, byIndex: () => [] };
  const reconcile = nopReconciler({ client: counted.client, resources: { kind: NOPS, cache }, now: Date.now });
  const { signal } = new AbortController();
  let later = 0;
  for (const { metadata } of resources) {
    // A conflict is retried in the next pass.
    const outcome = await reconcile(metadata.name, signal).catch(() => ({ requeueAfterMs: 0 }));
    if (outcome !== undefined) later++;
  }
  for (const one of resources) await addZone(counted.client, one);
  return later + counted.writes.length;
}

/** Like a provider that completes a list, restores its item whenever another writer removes it. */
async function addZone(client: Client, object: LiveObject): Promise<void> {
  const { apiVersion, kind, metadata } = object;
  const zones = at(object, "spec", "forProvider", "fields", "zones");
  if (!Array.isArray(zones) || zones.includes(PROVIDERS_ZONE) || metadata["deletionTimestamp"] !== undefined) return;
  const { name, resourceVersion } = metadata;
  const body = {
    metadata: { resourceVersion },
    spec: { forProvider: { fields: { zones: [...zones, PROVIDERS_ZONE] } } },
  };
  // After a conflict, the next pass tries again.
  await client.patch({ apiVersion, kind, name }, "merge", body, { fieldManager: "provider" }).catch(() => undefined);
}
