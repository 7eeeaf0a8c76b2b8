import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { file, tarball } from "../../testing/tarball.ts";
import type { ImageSource } from "../image/image-source.ts";
import { DEFAULT_LAYER_LIMITS } from "../layer/layer-limits.ts";
import { LayerStore, type StoredLayer } from "../store/layer-store.ts";
import { openStoreDirectory } from "../store/store-directory.ts";
import { abandon, completeFile, type GrowingFile, growingFile } from "./growing-file.ts";
import { StoreThreads } from "./threads.ts";
import type { UnpackJob } from "./unpack-job.ts";

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

const LIMITS = { threads: 2, heapMb: 64 };

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
    position: undefined,
    diffId: `sha256:${createHash("sha256").update(archive).digest("hex")}`,
    packedBytes: archive.length,
    verify: undefined,
  };
}

test("without threads, layers fail as retryable, and are unpacked once threads are available", async () => {
  const threads = new StoreThreads(LIMITS);
  system.hasThreads = false;
  const failures = await Promise.allSettled(Array.from({ length: MANY }, () => threads.run("unpack", job())));
  for (const failure of failures)
    expect(failure).toMatchObject({ reason: { name: "ImageError", code: "StoreFailed", retryable: true } });
  system.hasThreads = true;
  expect(await threads.run("unpack", job())).toMatchObject({ overlay: true });
});

test("a layer that waits for a thread can be aborted, and the next ones continue", async () => {
  const threads = new StoreThreads(LIMITS);
  const packed = growingFile(join(box.dir, "layer"));
  // Their files are empty, so that their threads wait.
  const first = Array.from({ length: MANY }, () => threads.run("unpack", job(packed)));
  const ended = Promise.allSettled(first);
  const caller = new AbortController();
  const second = threads.run("unpack", job(), { signal: caller.signal });
  const third = threads.run("unpack", job());
  caller.abort();
  await expect(second).rejects.toMatchObject({ code: "Aborted" });
  await expect(threads.run("unpack", job(), { signal: caller.signal })).rejects.toMatchObject({ code: "Aborted" });
  abandon(packed);
  for (const one of await ended) expect(one).toMatchObject({ reason: { code: "Aborted" } });
  await third;
});

test("a job that does not wait for anything ends with its caller", async () => {
  const threads = new StoreThreads(LIMITS);
  // Thousands of directories in the first chunk, between which the thread reads no flag.
  const entries = Array.from({ length: 4000 }, (_, i) => ({
    ...file("short"),
    pax: { path: Array.from({ length: 250 }, () => `p${i}`).join("/") },
  }));
  const packed = tarball(entries);
  writeFileSync(join(box.dir, "busy"), packed);
  const busy = job(completeFile(join(box.dir, "busy")));
  const limits = {
    ...DEFAULT_LAYER_LIMITS,
    maxImpliedDirectories: 10 ** 6,
    maxEntries: 10 ** 6,
    maxAllPathBytes: 10 ** 10,
  };
  const caller = new AbortController();
  const running = threads.run("unpack", { ...busy, limits }, { signal: caller.signal });
  await expect.poll(() => existsSync(join(busy.root, "p1"))).toBe(true);
  caller.abort();
  await expect(running).rejects.toMatchObject({ code: "Aborted" });
  expect(existsSync(join(busy.root, "p3999"))).toBe(false);
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
