// A provider of NopResources. Run it with `node main.ts` and a kubeconfig, or in a pod. Ctrl-C stops it.
import { once } from "node:events";
import process from "node:process";
import { connect, startInformers, workQueue } from "@xfn/kubernetes";
import { NOP_RESOURCE } from "./nop-resource.ts";
import { nopReconciler } from "./reconcile.ts";

const client = await connect({ fieldManager: "provider-nop", userAgent: "provider-nop" });
const informers = startInformers(client);
const { informer } = informers.acquire(NOP_RESOURCE);
const queue = workQueue({
  reconcile: nopReconciler({ client, resources: informer, now: Date.now }),
  concurrency: 10,
});
informer.subscribe({
  added: ({ metadata }) => queue.add(metadata.name),
  updated: ({ metadata }) => queue.add(metadata.name),
  deleted: ({ metadata }) => queue.forget(metadata.name),
});
await informer.whenSynced();
process.stdout.write("provider-nop: ready\n");

await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
await queue.stop();
await informers.stop();
await client.close();
