// The thread of flatten-thread.ts.
import { workerData } from "node:worker_threads";
import { flatten } from "@xfn/oci-rootfs/flatten";

/** What to copy, and to where. */
export interface FlattenJob {
  layers: readonly string[];
  destination: string;
}

const { layers, destination } = workerData as FlattenJob;
flatten(layers, destination);
