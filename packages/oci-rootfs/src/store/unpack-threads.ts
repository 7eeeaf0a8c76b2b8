import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { ImageError } from "../base/errors.ts";
import { abortError, throwIfAborted } from "../base/single-flight.ts";
import type { LayerRecord } from "../layer/layer-record.ts";
import { receiveError, type UnpackJob, type UnpackOutcome } from "./unpack-job.ts";

/** More threads than processors gain nothing, and more than a few only quarrel over one file system. */
const MAX_THREADS = Math.min(availableParallelism(), 4);
/** A layer of as many entries as are allowed takes a third of this; a thread that needs more ends, and not the process. */
const MAX_HEAP_MB = 1024;
/** Buffers that are done with do not count as heap: a small nursery is cleared more often, and they with it. */
const NURSERY_MB = 1;
/** A thread that has nothing to do any more goes away: a runner may live for months. */
const IDLE_MS = 500;

/**
 * Unpacks layers on threads of their own: several at once, and the thread that asks stays free for calls, connections and
 * hashing. A thread costs some 20 ms to start.
 */
export class UnpackThreads {
  readonly #idle: Worker[] = [];
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /**
   * @param signal - gives up a job that waits for a thread; one that has begun is given up through its file
   * @throws ImageError as of unpacking; StoreFailed where the thread died, or none could be started
   */
  async run(job: UnpackJob, signal?: AbortSignal): Promise<LayerRecord> {
    if (this.#running >= MAX_THREADS) await this.#turn(signal);
    this.#running += 1;
    try {
      const worker = this.#idle.pop() ?? start();
      worker.ref();
      const outcome = await ask(worker, job);
      this.#rest(worker);
      if ("error" in outcome) throw receiveError(outcome.error);
      return outcome.record;
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    throwIfAborted(signal);
    return new Promise((resolve, reject) => {
      const go = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1);
        reject(abortError(signal));
      };
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.push(go);
    });
  }

  #rest(worker: Worker): void {
    const forget = (): boolean => {
      const at = this.#idle.indexOf(worker);
      if (at >= 0) this.#idle.splice(at, 1);
      return at >= 0;
    };
    worker.removeAllListeners();
    worker.once("error", forget).once("exit", forget).unref();
    this.#idle.push(worker);
    setTimeout(() => {
      if (forget()) void worker.terminate();
    }, IDLE_MS).unref();
  }
}

function start(): Worker {
  // From the sources in tests, else from what was built of them.
  const name = import.meta.url.endsWith(".ts") ? "unpack-worker.ts" : "unpack-worker.js";
  try {
    return new Worker(new URL(name, import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: NURSERY_MB },
      // Options of the process, such as a test runner's loader, are not for it.
      execArgv: [],
    });
  } catch (error) {
    // The system has no thread or memory to spare, which says nothing about the image: a moment later it may have.
    const why = error instanceof Error ? error.message : String(error);
    const way = "try again once this machine has less to do, or raise its limit of processes (`ulimit -u`, pids.max)";
    throw new ImageError("StoreFailed", `no thread could be started that unpacks (${why}): ${way}`, {
      retryable: true,
      cause: error,
    });
  }
}

function ask(worker: Worker, job: UnpackJob): Promise<UnpackOutcome> {
  return new Promise((resolve, reject) => {
    const died = (error: unknown): void => {
      const why = error instanceof Error ? error.message : `exit code ${String(error)}`;
      reject(new ImageError("StoreFailed", `the thread that unpacks has ended: ${why}`, { cause: error }));
    };
    worker.removeAllListeners();
    worker.once("message", resolve).once("error", died).once("exit", died);
    worker.postMessage(job); // oxlint-disable-line unicorn/require-post-message-target-origin
  });
}
