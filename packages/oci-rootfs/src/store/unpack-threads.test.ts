import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { file, tarball } from "../../testing/tarball.ts";
import type { ImageSource } from "../image/image-source.ts";
import { DEFAULT_LAYER_LIMITS } from "../layer/layer-limits.ts";
import { abandon, completeFile, type GrowingFile, growingFile } from "./growing-file.ts";
import { LayerStore, type StoredLayer } from "./layer-store.ts";
import { openStoreDirectory } from "./store-directory.ts";
import type { UnpackJob } from "./unpack-job.ts";
import { UnpackThreads } from "./unpack-threads.ts";

const system = vi.hoisted(() => ({ hasThreads: true }));
vi.mock("node:worker_threads", async (original) => {
  const module = await original<typeof import("node:worker_threads")>();
  class Worker extends module.Worker {
    constructor(...args: ConstructorParameters<typeof module.Worker>) {
      // Node's synchronous error at the limit of processes, without a system call.
      if (!system.hasThreads)
        throw Object.assign(new Error("Worker initialization failure: EAGAIN"), { code: "ERR_WORKER_INIT_FAILED" });
      super(...args);
    }
  }
  return { ...module, Worker };
});

/** More than the number of threads on any machine. */
const MANY = availableParallelism() + 4;

const archive = tarball([file("a", "content")]);
let box: Sandbox;
let jobs: number;
beforeEach(() => {
  box = sandbox();
  jobs = 0;
  system.hasThreads = true;
  writeFileSync(join(box.dir, "layer"), archive);
});
afterEach(() => {
  box[Symbol.dispose]();
});

function job(packed: GrowingFile = completeFile(join(box.dir, "layer"))): UnpackJob {
  return {
    file: packed,
    root: join(box.dir, `fs-${(jobs += 1)}`),
    limits: DEFAULT_LAYER_LIMITS,
    owner: undefined,
    lower: undefined,
    named: undefined,
    diffId: `sha256:${createHash("sha256").update(archive).digest("hex")}`,
    packedBytes: archive.length,
    verify: undefined,
  };
}

test("without threads, layers fail as retryable, and are unpacked once threads are available", async () => {
  const threads = new UnpackThreads();
  system.hasThreads = false;
  const failures = await Promise.allSettled(Array.from({ length: MANY }, () => threads.run(job())));
  for (const failure of failures)
    expect(failure).toMatchObject({ reason: { name: "ImageError", code: "StoreFailed", retryable: true } });
  system.hasThreads = true;
  expect(await threads.run(job())).toMatchObject({ overlay: true });
});

test("a layer that waits for a thread can be aborted, and the next ones continue", async () => {
  const threads = new UnpackThreads();
  const packed = growingFile(join(box.dir, "layer"));
  // Their files are empty, so that their threads wait.
  const first = Array.from({ length: MANY }, () => threads.run(job(packed)));
  const ended = Promise.allSettled(first);
  const caller = new AbortController();
  const second = threads.run(job(), caller.signal);
  const third = threads.run(job());
  caller.abort();
  await expect(second).rejects.toMatchObject({ code: "Aborted" });
  await expect(threads.run(job(), caller.signal)).rejects.toMatchObject({ code: "Aborted" });
  abandon(packed);
  for (const one of await ended) expect(one).toMatchObject({ reason: { code: "Aborted" } });
  await third;
});

test("an aborted call does not wait for other callers' layers", async () => {
  const layers = new LayerStore(openStoreDirectory(box.store), undefined, DEFAULT_LAYER_LIMITS);
  // Connections that transfer nothing until they are aborted.
  const blob: ImageSource["blob"] = async (_, signal) =>
    (async function* () {
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
      yield archive;
    })();
  const source = { blob } as ImageSource;
  const fetch = (signal: AbortSignal): Promise<StoredLayer> => {
    const digest = `sha256:${(jobs += 1).toString(16).padStart(64, "0")}`;
    // Large enough for a worker thread.
    const descriptor = { mediaType: "", digest, size: 64 * 1024 * 1024 };
    return layers.ensure({ descriptor, diffId: digest, source, signal });
  };
  const others = new AbortController();
  const first = Promise.allSettled(Array.from({ length: MANY }, () => fetch(others.signal)));
  const caller = new AbortController();
  const second = fetch(caller.signal);
  // By then, each waits.
  await expect.poll(() => box.leftovers().filter((path) => path.includes("/"))).toHaveLength(2 * (MANY + 1));
  caller.abort();
  await expect(second).rejects.toMatchObject({ code: "Aborted" });
  others.abort();
  await first;
});
