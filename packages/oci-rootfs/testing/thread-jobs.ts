// The worker of worker-threads.test.ts.
import { serveJobs } from "../src/threads/worker-threads.ts";

/** Counts jobs in shared memory: those that run, and the most that ever ran. */
export interface CountedJob {
  readonly kind: "count";
  readonly counts: Int32Array;
}

export type ThreadJob = CountedJob | { readonly kind: "fill" | "spin" | "fail" };

serveJobs(run, String);

function run(job: ThreadJob): string {
  switch (job.kind) {
    case "count": {
      const running = Atomics.add(job.counts, 0, 1) + 1;
      if (running > Atomics.load(job.counts, 1)) Atomics.store(job.counts, 1, running);
      // Long enough for another thread to start.
      Atomics.wait(job.counts, 2, 0, 100);
      Atomics.sub(job.counts, 0, 1);
      return "counted";
    }
    case "fill": {
      const kept: object[] = [];
      for (;;) kept.push({ at: kept.length });
    }
    case "spin":
      for (;;);
    case "fail":
      throw new TypeError("a job fails");
  }
}
