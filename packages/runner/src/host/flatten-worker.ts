// The entry point of the thread in flatten-thread.ts.
import { workerData } from "node:worker_threads";
import { flatten } from "@xfn/oci-rootfs/flatten";

/** The folders to copy, and the destination. */
export interface FlattenJob {
  layers: readonly string[];
  destination: string;
}

const { layers, destination } = workerData as FlattenJob;
flatten(layers, destination);
