import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { TargetResult } from "./run.ts";

/** A run that is not over by then never will be. */
const HANG_MS = 30_000;
/** An input that needs more memory than this is a finding, not the end of the machine. */
const MAX_MEGABYTES = 1024;

/** What a thread is to do. */
export interface Work {
  target: string;
  runs: number;
  seed: number;
  /** The time that an input may take, in milliseconds. */
  maxMs?: number;
  /** Of fast-check: repeats one failure. */
  path?: string | undefined;
}

/** A thread that fuzzes one target after the other; one that hangs or dies is replaced. */
export class FuzzThread {
  readonly #progress: Int32Array = new Int32Array(new SharedArrayBuffer(4));
  #worker: Worker | undefined;

  /** Fuzzes one target. A run that does not end, and one that takes all memory, is its failure. */
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

  /** To be called now and then: resolves once a single run has been under way for too long. */
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

/** How many runs each target gets of a total, by its weight. */
export function share(total: number, weights: Readonly<Record<string, number>>): Map<string, number> {
  const sum = Object.values(weights).reduce((all, weight) => all + weight, 0);
  return new Map(Object.entries(weights).map(([name, weight]) => [name, Math.ceil((total * weight) / sum)]));
}
