import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { TargetResult } from "./run.ts";

/** A run that takes longer does not end. */
const HANG_MS = 30_000;
/** The most memory of a thread. An input that needs more is a finding. */
const MAX_MEGABYTES = 1024;

/** The task of a thread. */
export interface Work {
  target: string;
  runs: number;
  seed: number;
  /** The most time of an input in milliseconds. */
  maxMs?: number;
  /** The path of fast-check that repeats one failure. */
  path?: string | undefined;
}

/** Fuzzes one target after the other in a thread, and replaces a thread that hangs or dies. */
export class FuzzThread {
  readonly #progress: Int32Array = new Int32Array(new SharedArrayBuffer(4));
  #worker: Worker | undefined;

  /** Fuzzes one target. A run that does not end, or exceeds the memory, is a failure. */
  async fuzz(work: Work): Promise<TargetResult> {
    this.#worker ??= new Worker(join(import.meta.dirname, "worker.ts"), {
      workerData: this.#progress.buffer,
      resourceLimits: { maxOldGenerationSizeMb: MAX_MEGABYTES },
    });
    const worker = this.#worker;
    const { promise, resolve } = Promise.withResolvers<TargetResult | string>();
    const failed = (error: unknown): void => resolve(`the thread ended: ${String(error)}`);
    worker.once("message", resolve).once("error", failed).once("exit", failed);
    const watch = setInterval(this.#hangs(resolve), 1000);
    Atomics.store(this.#progress, 0, 0);
    worker.postMessage(work); // oxlint-disable-line unicorn/require-post-message-target-origin
    const result = await promise;
    clearInterval(watch);
    worker.off("message", resolve).off("error", failed).off("exit", failed);
    if (typeof result !== "string") return result;
    const run = Atomics.load(this.#progress, 0);
    await this.close();
    const failure = `${result} (seed ${work.seed}, path ${run})`;
    return { runs: run, refused: 0, slowestMs: 0, slowest: "", failure };
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  /** Resolves once a single run takes too long. Call it repeatedly. */
  #hangs(resolve: (what: string) => void): () => void {
    let seen = -1;
    let since = performance.now();
    return () => {
      const run = Atomics.load(this.#progress, 0);
      if (run !== seen) {
        seen = run;
        since = performance.now();
      } else if (performance.now() - since > HANG_MS) resolve(`a run did not end in ${HANG_MS / 1000} s`);
    };
  }
}

/** Divides a number of runs among targets by weight. */
export function share(total: number, weights: Readonly<Record<string, number>>): Map<string, number> {
  const sum = Object.values(weights).reduce((all, weight) => all + weight, 0);
  return new Map(Object.entries(weights).map(([name, weight]) => [name, Math.ceil((total * weight) / sum)]));
}
