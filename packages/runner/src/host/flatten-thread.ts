import { Worker } from "node:worker_threads";
import type { FlattenJob } from "./flatten-worker.ts";

// An image with the most directories that a store accepts needs some 250 MB.
const MAX_HEAP_MB = 1024;

/**
 * Runs `flatten` of @xfn/oci-rootfs on another thread. A large image takes seconds, during which this process must
 * report the ends of calls. If an image needs too much memory, only its own call fails.
 */
export async function flattenOnThread(layers: readonly string[], destination: string): Promise<void> {
  const name = import.meta.url.endsWith(".ts") ? "flatten-worker.ts" : "flatten-worker.js";
  const job: FlattenJob = { layers, destination };
  const worker = new Worker(new URL(name, import.meta.url), {
    workerData: job,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  await new Promise<void>((resolve, reject) => {
    worker.once("error", reject);
    worker.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`its copying ended with code ${code}`))));
  });
}
