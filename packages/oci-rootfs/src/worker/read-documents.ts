import type { ImageConfig } from "../image/manifest.ts";
import { parseReferrers, parseTags, type Referrer } from "../image/registry-page.ts";
import { type ConfigJob, type ManifestJob, type ReadManifest, readConfigHere, readManifestHere } from "./documents.ts";
import { runInWorker } from "./run-in-worker.ts";

/** Parsing 64 KiB takes at most 3 ms. Documents of almost all images are smaller. */
const MAX_BYTES_HERE = 64 * 1024;

/** Reads a manifest, or selects one of an index. @throws ImageError */
export async function readManifest(job: ManifestJob, signal: AbortSignal | undefined): Promise<ReadManifest> {
  return job.bytes.length <= MAX_BYTES_HERE ? readManifestHere(job) : await runInWorker("manifest", job, { signal });
}

/** Reads the part of an image config that runs need. @throws ImageError */
export async function readConfig(job: ConfigJob, signal: AbortSignal | undefined): Promise<ImageConfig> {
  return job.bytes.length <= MAX_BYTES_HERE ? readConfigHere(job) : await runInWorker("config", job, { signal });
}

/** Reads a page of tags. @throws ImageError */
export async function readTags(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<string[]> {
  return bytes.length <= MAX_BYTES_HERE ? parseTags(bytes) : await runInWorker("tags", { bytes }, { signal });
}

/** Reads a page of referrers. @throws ImageError */
export async function readReferrers(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<Referrer[]> {
  return bytes.length <= MAX_BYTES_HERE ? parseReferrers(bytes) : await runInWorker("referrers", { bytes }, { signal });
}
