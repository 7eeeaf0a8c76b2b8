import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { ImageError } from "../base/errors.ts";
import { abortError, throwIfAborted } from "../base/single-flight.ts";
import type { LayerRecord } from "../layer/layer-record.ts";
import { receiveError, type UnpackJob, type UnpackOutcome } from "./unpack-job.ts";

/** More threads than processors gain nothing, and more than a few contend for one file system. */
const MAX_THREADS = Math.min(availableParallelism(), 4);
/**
 * A layer with the maximum of entries takes a third. If a thread needs more, only the thread ends and not the
 * process.
 */
const MAX_HEAP_MB = 1024;
/** A small young generation is collected more often, and with it used buffers, which do not count as heap. */
const YOUNG_GENERATION_MB = 1;
/** An idle thread is stopped after this time, because a runner may run for months. */
const IDLE_MS = 500;

/**
 * Unpacks several layers at once on worker threads, so that the main thread stays free for calls, connections and
 * hashing. Starting a thread takes about 20 ms.
 */
export class UnpackThreads {
  readonly #idle: Worker[] = [];
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /**
   * @param signal aborts a job that waits for a thread. A running job is aborted through its file.
   * @throws ImageError of the unpacking; StoreFailed if the thread died or could not be started
   */
  async run(job: UnpackJob, signal?: AbortSignal): Promise<LayerRecord> {
    if (this.#running >= MAX_THREADS) await this.#waitForThread(signal);
    this.#running += 1;
    try {
      const worker = this.#idle.pop() ?? start();
      worker.ref();
      const outcome = await ask(worker, job);
      this.#addIdle(worker);
      if ("error" in outcome) throw receiveError(outcome.error);
      return outcome.record;
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  #waitForThread(signal: AbortSignal | undefined): Promise<void> {
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

  #addIdle(worker: Worker): void {
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
  // Tests run from the sources.
  const name = import.meta.url.endsWith(".ts") ? "unpack-worker.ts" : "unpack-worker.js";
  try {
    return new Worker(new URL(name, import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
      // Without the options of the process, such as a test runner's loader.
      execArgv: [],
    });
  } catch (error) {
    // The system lacks threads or memory, which may be temporary.
    const why = error instanceof Error ? error.message : String(error);
    const way = "retry when the machine is less busy, or raise its limit of processes (`ulimit -u`, pids.max)";
    throw new ImageError("StoreFailed", `cannot start an unpack worker (${why}): ${way}`, {
      retryable: true,
      cause: error,
    });
  }
}

function ask(worker: Worker, job: UnpackJob): Promise<UnpackOutcome> {
  return new Promise((resolve, reject) => {
    const died = (error: unknown): void => {
      const why = error instanceof Error ? error.message : `exit code ${String(error)}`;
      reject(new ImageError("StoreFailed", `the unpack worker exited unexpectedly: ${why}`, { cause: error }));
    };
    worker.removeAllListeners();
    worker.once("message", resolve).once("error", died).once("exit", died);
    worker.postMessage(job); // oxlint-disable-line unicorn/require-post-message-target-origin
  });
}
