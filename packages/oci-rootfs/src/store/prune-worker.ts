// A worker thread that prunes a store once (see quota.ts).
import { parentPort, workerData } from "node:worker_threads";
import { sendError } from "../worker/sent-error.ts";
import { collectGarbage } from "./collect.ts";
import { Leases } from "./leases.ts";
import { nameStore } from "./name-store.ts";
import type { PruneJob, PruneOutcome } from "./quota.ts";
import { StoreDirectory } from "./store-directory.ts";

parentPort?.postMessage(prune(workerData as PruneJob)); // oxlint-disable-line unicorn/require-post-message-target-origin

function prune({ dir, maxBytes }: PruneJob): PruneOutcome {
  try {
    const directory = new StoreDirectory(dir);
    return { result: collectGarbage(directory, nameStore(directory), new Leases(dir), { maxBytes }) };
  } catch (error) {
    return { error: sendError(error) };
  }
}
