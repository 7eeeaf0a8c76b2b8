// A worker thread that prunes a store once (see quota.ts).
import { serveJobs } from "../threads/worker-threads.ts";
import { sendError } from "../worker/sent-error.ts";
import { collectGarbage, type PruneResult } from "./collect.ts";
import { Leases } from "./leases.ts";
import { nameStore } from "./name-store.ts";
import type { PruneJob } from "./quota.ts";
import { StoreDirectory } from "./store-directory.ts";

serveJobs(({ dir, maxBytes }: PruneJob): PruneResult => {
  const directory = new StoreDirectory(dir);
  return collectGarbage(directory, nameStore(directory), new Leases(dir), { maxBytes });
}, sendError);
