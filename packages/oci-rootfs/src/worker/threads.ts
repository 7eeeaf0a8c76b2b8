import { ImageError } from "../base/errors.ts";
import { type JobOptions, ThreadError, type ThreadLimits, WorkerThreads } from "../threads/worker-threads.ts";
import type { JobKind, StoreJob, StoreJobs, StoreOutcome } from "./jobs.ts";
import { receiveError } from "./sent-error.ts";

/** Runs jobs of the image store on worker threads, so that the main thread stays free for calls and hashing. */
export class StoreThreads {
  readonly #threads: WorkerThreads<StoreJob, StoreOutcome>;

  constructor(limits: ThreadLimits) {
    // Tests run from the sources.
    const name = import.meta.url.endsWith(".ts") ? "worker.ts" : "worker.js";
    this.#threads = new WorkerThreads({ ...limits, module: new URL(name, import.meta.url) });
  }

  /** @throws ImageError of the job; Aborted; StoreFailed if the thread died or could not be started */
  async run<K extends JobKind>(
    kind: K,
    job: StoreJobs[K]["job"],
    options?: JobOptions,
  ): Promise<StoreJobs[K]["result"]> {
    let outcome: StoreOutcome;
    try {
      // A union of kinds cannot be matched with the union of their jobs.
      outcome = await this.#threads.run({ kind, job } as StoreJob, options);
    } catch (error) {
      if (!(error instanceof ThreadError)) throw error;
      const { code, message, retryable, cause } = error;
      if (code === "Aborted") throw new ImageError("Aborted", message, { cause });
      throw new ImageError("StoreFailed", `the image store: ${message}`, { retryable, cause });
    }
    if ("error" in outcome) throw receiveError(outcome.error);
    return outcome.result;
  }
}
