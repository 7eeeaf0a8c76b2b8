// Fuzzes in a separate thread, because only another thread can end an endless run.
import { parentPort, workerData } from "node:worker_threads";
import { fuzz } from "./run.ts";
import { TARGETS } from "./targets.ts";
import type { Work } from "./watch.ts";

const counter = new Int32Array(workerData as SharedArrayBuffer);

parentPort?.on("message", (work: Work) => {
  void answer(work);
});

async function answer({ target, runs, seed, path, maxMs }: Work): Promise<void> {
  const load = TARGETS[target];
  if (load === undefined) throw new Error(`there is no target ${target}`);
  const result = fuzz(await load(), { runs, seed, path, maxMs, onRun: (run) => Atomics.store(counter, 0, run) });
  parentPort?.postMessage(result); // oxlint-disable-line unicorn/require-post-message-target-origin
}
