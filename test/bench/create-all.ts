import type { JsonObject } from "@xfn/json";
import { type ConnectedClient, type LiveObject, type ResourceKind, startInformers } from "@xfn/kubernetes";
import { isTrue } from "./controller-world.ts";

const READY_MS = 1_800_000;

/** Creates objects of one kind, 20 at a time. @returns milliseconds until the condition of all is `True` */
export async function createAll(
  client: ConnectedClient,
  kind: ResourceKind,
  objects: readonly (JsonObject & { readonly metadata: { readonly name: string } })[],
  condition: string,
): Promise<number> {
  const informers = startInformers(client);
  const { informer } = informers.acquire(kind);
  await informer.whenSynced();
  // Objects of earlier runs may exist.
  const missing = new Set(objects.map(({ metadata }) => metadata.name));
  const all = Promise.withResolvers<void>();
  const look = (object: LiveObject): void => {
    if (isTrue(object, condition)) missing.delete(object.metadata.name);
    if (missing.size === 0) all.resolve();
  };
  informer.subscribe({ added: look, updated: look });
  const limit = setTimeout(() => {
    all.reject(new Error(`${missing.size} of ${objects.length} ${kind.plural} did not become ${condition}`));
  }, READY_MS);
  try {
    const began = performance.now();
    const queue = objects.values();
    const workers = Array.from({ length: 20 }, async () => {
      for (const object of queue) await client.create(object);
    });
    await Promise.all([all.promise, ...workers]);
    return performance.now() - began;
  } finally {
    clearTimeout(limit);
    await informers.stop();
  }
}
