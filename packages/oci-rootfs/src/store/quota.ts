import { messageOf } from "@xfn/errors";
import { ImageError } from "../base/errors.ts";
import { type JobOutcome, WorkerThreads } from "../threads/worker-threads.ts";
import { receiveError, type SentError } from "../worker/sent-error.ts";
import type { PruneResult } from "./collect.ts";

export interface PruneJob {
  readonly dir: string;
  readonly maxBytes: number;
}

/** A full store is pruned to this part of its quota, so that the next images need no pruning. */
const LOW_WATER = 0.9;
/** Other processes use the same store, so its size is measured again. */
const MEASURE_MS = 60_000;
/** The records of 100,000 images. */
const PRUNE_HEAP_MB = 512;
const PRUNE_YOUNG_MB = 32;

/** Bounds the size of a store: removes the least recently used images on a worker. */
export class Quota {
  readonly #dir: string;
  readonly #maxBytes: number;
  #bytes = Number.POSITIVE_INFINITY;
  #measuredMs = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;

  constructor(dir: string, maxBytes: number) {
    this.#dir = dir;
    this.#maxBytes = maxBytes;
  }

  /**
   * Makes room after an image was added, which this process uses. Returns when the store is within its quota.
   *
   * @param bytes of the image
   * @throws ImageError StoreFailed if the images in use, and those that were built locally, exceed the quota
   */
  async added(bytes: number): Promise<void> {
    this.#bytes += bytes;
    // A prune that began before this image was added may not have seen it.
    await this.#running?.catch(() => {});
    if (this.#isWithin()) return;
    this.#running ??= this.#prune().finally(() => (this.#running = undefined));
    await this.#running;
    if (this.#isWithin()) return;
    const why = `the images in use take ${this.#bytes} bytes, more than the store's ${this.#maxBytes}`;
    throw new ImageError("StoreFailed", `${why}: retry when fewer images are in use, or raise the store's maxBytes`, {
      retryable: true,
    });
  }

  #isWithin(): boolean {
    return this.#bytes <= this.#maxBytes && performance.now() - this.#measuredMs < MEASURE_MS;
  }

  async #prune(): Promise<void> {
    const isFull = Number.isFinite(this.#bytes) && this.#bytes > this.#maxBytes;
    const maxBytes = isFull ? Math.floor(LOW_WATER * this.#maxBytes) : this.#maxBytes;
    const { bytesLeft } = await pruneInWorker({ dir: this.#dir, maxBytes });
    this.#bytes = bytesLeft;
    this.#measuredMs = performance.now();
  }
}

/** Prunes on a worker, because thousands of images take seconds. */
async function pruneInWorker(job: PruneJob): Promise<PruneResult> {
  const name = import.meta.url.endsWith(".ts") ? "prune-worker.ts" : "prune-worker.js";
  const module = new URL(name, import.meta.url);
  const threads = new WorkerThreads<PruneJob, JobOutcome<PruneResult, SentError>>({
    threads: 1,
    heapMb: PRUNE_HEAP_MB,
    youngMb: PRUNE_YOUNG_MB,
    idleMs: 0,
    module,
  });
  const outcome = await threads.run(job).catch((cause: unknown) => {
    throw new ImageError("StoreFailed", `the image store cannot be pruned: ${messageOf(cause)}`, { cause });
  });
  if ("error" in outcome) throw receiveError(outcome.error);
  return outcome.result;
}
