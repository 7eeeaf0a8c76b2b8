import type { Client, LiveObject } from "@xfn/kubernetes";
import { nopReconciler } from "../../examples/provider-nop/reconcile.ts";
import { NOPS } from "./kinds.ts";

/** Does, once, what the provider of NopResources does for the resources of one run. Returns how many it wrote to. */
export async function provide(client: Client, isOurs: (object: LiveObject) => boolean): Promise<number> {
  const { items } = await client.list(NOPS);
  const ours = items.filter(isOurs);
  const before = new Map(ours.map((one) => [one.metadata.name, one]));
  const reconcile = nopReconciler({ client, read: (name) => before.get(name), now: Date.now });
  const { signal } = new AbortController();
  let pending = 0;
  for (const { metadata } of ours) {
    // A conflict is looked at again in the next pass.
    const outcome = await reconcile(metadata.name, signal).catch(() => ({ requeueAfterMs: 0 }));
    if (outcome !== undefined) pending++;
  }
  const after = (await client.list(NOPS)).items.filter(isOurs);
  const isSame = ({ metadata }: LiveObject): boolean =>
    before.get(metadata.name)?.metadata.resourceVersion === metadata.resourceVersion;
  return pending + after.filter((one) => !isSame(one)).length + (ours.length - after.length);
}
