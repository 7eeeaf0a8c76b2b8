// A provider of NopResources. Run it with `node main.ts` and a kubeconfig, or in a pod. Ctrl-C stops it.
import { once } from "node:events";
import process from "node:process";
import { parseArgs } from "node:util";
import { connect, startInformers, workQueue } from "@xfn/kubernetes";
import { NOP_RESOURCE } from "./nop-resource.ts";
import { nopReconciler } from "./reconcile.ts";
import { serveConversions } from "./webhook.ts";

// Only an installed package has certificates: the API server converts nothing for the CRD of crd.yaml.
const { values } = parseArgs({ options: { address: { type: "string", default: "0.0.0.0:9443" } } });
const certificates = process.env["TLS_SERVER_CERTS_DIR"];
const webhook = certificates === undefined ? undefined : await serveConversions(certificates, values.address);
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
webhook?.close();
await queue.stop();
await informers.stop();
await client.close();
