import { removeTree } from "../base/remove-tree.ts";
import type { ImageConfig } from "../image/manifest.ts";
import { parseReferrers, parseTags, type Referrer } from "../image/registry-page.ts";
import type { LayerRecord } from "../layer/layer-record.ts";
import type { JobOutcome } from "../threads/worker-threads.ts";
import { type ConfigJob, type ManifestJob, type ReadManifest, readConfigHere, readManifestHere } from "./documents.ts";
import type { SentError } from "./sent-error.ts";
import { type FitJob, fitsHere, type PackedLayer, type UnpackJob, unpackHere, verifyHere } from "./unpack-job.ts";

/** Jobs that run on workers, so that the main thread stays free for calls. */
export interface StoreJobs {
  readonly unpack: { readonly job: UnpackJob; readonly result: LayerRecord | undefined };
  readonly verify: { readonly job: PackedLayer; readonly result: undefined };
  readonly fits: { readonly job: FitJob; readonly result: boolean };
  readonly manifest: { readonly job: ManifestJob; readonly result: ReadManifest };
  readonly config: { readonly job: ConfigJob; readonly result: ImageConfig };
  readonly tags: { readonly job: PageJob; readonly result: string[] };
  readonly referrers: { readonly job: PageJob; readonly result: Referrer[] };
  readonly remove: { readonly job: { readonly path: string }; readonly result: boolean };
}

/** A page of a list that a registry returned. */
interface PageJob {
  readonly bytes: Uint8Array;
}

export type JobKind = keyof StoreJobs;

/** A job, as it is sent to a worker. */
export type StoreJob = { readonly [K in JobKind]: { readonly kind: K; readonly job: StoreJobs[K]["job"] } }[JobKind];

/** The result of a job, as the worker sends it back. */
export type StoreOutcome = JobOutcome<StoreJobs[JobKind]["result"], SentError>;

/** Runs a job on this thread. @throws ImageError */
export async function runHere({ kind, job }: StoreJob): Promise<StoreJobs[JobKind]["result"]> {
  switch (kind) {
    case "unpack":
      return await unpackHere(job);
    case "verify":
      return await verifyHere(job);
    case "fits":
      return fitsHere(job);
    case "manifest":
      return readManifestHere(job);
    case "config":
      return readConfigHere(job);
    case "tags":
      return parseTags(job.bytes);
    case "referrers":
      return parseReferrers(job.bytes);
    case "remove":
      return removeTree(job.path);
  }
}
