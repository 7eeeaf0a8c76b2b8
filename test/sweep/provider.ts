import type { Client, LiveObject } from "@xfn/kubernetes";
import { nopReconciler } from "../../examples/provider-nop/reconcile.ts";
import { faultyClient } from "../harness/faulty-client.ts";

/** Runs the provider of NopResources once for each of these. Returns the number of writes and of requeues. */
export async function provide(client: Client, resources: readonly LiveObject[]): Promise<number> {
  const byName = new Map(resources.map((one) => [one.metadata.name, one]));
  const counted = faultyClient(client, () => undefined);
  const reconcile = nopReconciler({ client: counted.client, read: (name) => byName.get(name), now: Date.now });
  const { signal } = new AbortController();
  let later = 0;
  for (const { metadata } of resources) {
    // A conflict is retried in the next pass.
    const outcome = await reconcile(metadata.name, signal).catch(() => ({ requeueAfterMs: 0 }));
    if (outcome !== undefined) later++;
  }
  return later + counted.writes.length;
}
