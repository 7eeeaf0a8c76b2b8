import { availableParallelism } from "node:os";
import type { JobOptions, ThreadLimits } from "../threads/worker-threads.ts";
import type { JobKind, StoreJobs } from "./jobs.ts";
import type { StoreThreads } from "./threads.ts";

/** More threads than processors gain nothing, and more than a few contend for one file system. */
const LAYER_THREADS = Math.min(availableParallelism(), 4);
/** A layer with the maximum of entries takes half of it. */
const LAYER_HEAP_MB = 512;
/** A document of 4 MiB takes up to 105 MB. */
const DOCUMENT_HEAP_MB = 256;
/** Removing trees takes little, and competes with calls for the file system. */
const REMOVAL_HEAP_MB = 64;

const LIMITS: Readonly<Record<Pool, ThreadLimits>> = {
  layers: { threads: LAYER_THREADS, heapMb: LAYER_HEAP_MB },
  documents: { threads: 1, heapMb: DOCUMENT_HEAP_MB },
  removal: { threads: 1, heapMb: REMOVAL_HEAP_MB },
};

/** Jobs of one pool wait for each other, so that long ones do not delay short ones of another. */
const POOLS: Readonly<Record<JobKind, Pool>> = {
  unpack: "layers",
  verify: "layers",
  fits: "layers",
  manifest: "documents",
  config: "documents",
  tags: "documents",
  referrers: "documents",
  remove: "removal",
};

type Pool = "layers" | "documents" | "removal";

const pools = new Map<Pool, Promise<StoreThreads>>();

/**
 * Runs a job on a worker that all stores of this process share.
 *
 * @throws ImageError of the job; Aborted; StoreFailed if the worker died or could not be started
 */
export async function runInWorker<K extends JobKind>(
  kind: K,
  job: StoreJobs[K]["job"],
  options: JobOptions = {},
): Promise<StoreJobs[K]["result"]> {
  const pool = POOLS[kind];
  // Loaded on demand, so that a call of a cached image does not load threads.
  const threads = pools.get(pool) ?? import("./threads.ts").then(({ StoreThreads }) => new StoreThreads(LIMITS[pool]));
  pools.set(pool, threads);
  return await (await threads).run(kind, job, options);
}
