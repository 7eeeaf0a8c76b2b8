import type { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import type { ThreadJob } from "../../testing/thread-jobs.ts";
import { type JobOutcome, WorkerThreads } from "./worker-threads.ts";

const LIMITS = { threads: 1, heapMb: 32, module: new URL("../../testing/thread-jobs.ts", import.meta.url) };

function open(limits: { threads?: number } = {}): WorkerThreads<ThreadJob, JobOutcome<string, string>> {
  return new WorkerThreads({ ...LIMITS, ...limits });
}

const counts = (): Int32Array => new Int32Array(new SharedArrayBuffer(12));

test("jobs that begin as another one ends do not exceed the bound", async () => {
  const threads = open();
  const counted = counts();
  const run = (): Promise<unknown> => threads.run({ kind: "count", counts: counted });
  const others: Promise<unknown>[] = [];
  process.once("worker", (worker) => {
    // The second job takes the place of the first one in one of these turns.
    worker.once("message", () => {
      let turn = Promise.resolve();
      for (let at = 0; at < 20; at++) {
        turn = turn.then(() => {
          others.push(run());
          return undefined;
        });
      }
    });
  });
  await Promise.all([run(), run()]);
  await Promise.all(others);
  expect(others).toHaveLength(20);
  expect([...counted]).toEqual([0, 1, 0]);
});

test("jobs run at the same time on as many threads as there may be", async () => {
  const threads = open({ threads: 2 });
  const counted = counts();
  await Promise.all(Array.from({ length: 6 }, () => threads.run({ kind: "count", counts: counted })));
  expect([...counted]).toEqual([0, 2, 0]);
});

test("a job that fills its heap fails, and this process and the next jobs continue", async () => {
  const threads = open();
  await expect(threads.run({ kind: "fill" })).rejects.toMatchObject({
    name: "ThreadError",
    code: "OutOfMemory",
    retryable: false,
  });
  expect(await threads.run({ kind: "count", counts: counts() })).toEqual({ result: "counted" });
});

test("an error of a thread after its job was aborted does not end this process", async () => {
  const threads = open();
  const started = Promise.withResolvers<Worker>();
  process.once("worker", started.resolve);
  const caller = new AbortController();
  const running = threads.run({ kind: "spin" }, { signal: caller.signal });
  const worker = await started.promise;
  caller.abort(new Error("not wanted"));
  await expect(running).rejects.toMatchObject({ code: "Aborted", cause: { message: "not wanted" } });
  // Without a listener, an emitter throws the error.
  expect(worker.emit("error", new Error("out of memory"))).toBe(true);
});

test("an error of an idle thread does not end this process", async () => {
  const threads = open();
  const started = Promise.withResolvers<Worker>();
  process.once("worker", started.resolve);
  await threads.run({ kind: "count", counts: counts() });
  const worker = await started.promise;
  expect(worker.emit("error", new Error("out of memory"))).toBe(true);
  // It is not used again.
  expect(await threads.run({ kind: "count", counts: counts() })).toEqual({ result: "counted" });
});

test("with no time to wait, each job has a thread, and a late error of one does not end this process", async () => {
  const threads = new WorkerThreads<ThreadJob, JobOutcome<string, string>>({ ...LIMITS, idleMs: 0 });
  const started: Worker[] = [];
  const add = (worker: Worker): number => started.push(worker);
  process.on("worker", add);
  for (let job = 0; job < 2; job++) await threads.run({ kind: "count", counts: counts() });
  process.off("worker", add);
  expect(started).toHaveLength(2);
  expect(started[1]?.emit("error", new Error("out of memory"))).toBe(true);
});

test("the error of a job comes back as its worker sends it", async () => {
  expect(await open().run({ kind: "fail" })).toEqual({ error: "TypeError: a job fails" });
});
