import { onAbort } from "@xfn/lifetime";
import type { RegistryAuth } from "@xfn/runner-contract";
import { ImageError } from "../base/errors.ts";
import { type OnProgress, PROGRESS_STEP_BYTES, type Progress } from "../base/progress.ts";
import { throwIfAborted } from "../base/single-flight.ts";
import {
  availablePlatforms,
  type ContentGraph,
  type CopiedManifest,
  readContentGraph,
} from "../image/content-graph.ts";
import { type ImageLocation, parseImageLocation } from "../image/image-name.ts";
import type { ImageSource } from "../image/image-source.ts";
import type { ImageTarget } from "../image/image-target.ts";
import { type Descriptor, MAX_MANIFEST_BYTES } from "../image/manifest.ts";
import { hostPlatform, type Platform, printPlatform, satisfies } from "../image/platform.ts";
import type { RegistryOptions } from "../registry/options.ts";
import { internalsOf, type Store } from "../store/store.ts";
import { knownRepositories, openSource, openTarget } from "./image-location.ts";

export interface CopyOptions extends Omit<RegistryOptions, "auth"> {
  /** `store:NAME`, or a name without a registry; `oci:DIR[:TAG]`; or a reference with a registry. */
  from: string;
  /** A name of the same forms. */
  to: string;
  /** For names in a store. */
  store?: Store | undefined;
  /** Copies only this platform's image of an index. Default: all images. */
  platform?: Platform | undefined;
  /** For the registry of `from`; takes precedence over `credentials`. */
  fromAuth?: RegistryAuth | undefined;
  /** For the registry of `to`; takes precedence over `credentials`. */
  toAuth?: RegistryAuth | undefined;
  /**
   * A repository in the registry of `to` that may have some of the blobs. Default: derived from the source and the
   * store.
   */
  mountFrom?: string | undefined;
  /** Uploads blobs in chunks of this many bytes. Default: each blob in one request. */
  chunkBytes?: number | undefined;
  /** `layer` counts all blobs, including configs. */
  onProgress?: OnProgress | undefined;
  signal?: AbortSignal | undefined;
}

export interface CopiedImage {
  /** The full name of the copy. */
  readonly name: string;
  /** Digest of the manifest or index that the name now refers to. */
  readonly digest: string;
  /** Numbers of blobs: transferred, already present, and mounted from another repository of the registry. */
  readonly blobs: { readonly written: number; readonly present: number; readonly mounted: number };
  /** Bytes of the transferred blobs. */
  readonly bytes: number;
  /** The only platform that was copied, if `from` is an index of which the store has no other. */
  readonly onlyPlatform?: string;
}

/** Concurrent blobs, as in a pull. */
const MAX_PARALLEL_BLOBS = 4;

/**
 * Copies an image, or all images of an index, between a registry, a layout and a store. The copy has the same bytes,
 * and so the same digests. Transfers only what the target lacks, and sets the name last.
 *
 * @throws ImageError
 */
export async function copyImage(options: CopyOptions): Promise<CopiedImage> {
  throwIfAborted(options.signal);
  // The first failing blob stops the others.
  const stop = new AbortController();
  const forget = onAbort(options.signal, () => stop.abort(options.signal?.reason));
  try {
    return await copy(options, stop);
  } catch (error) {
    throwIfAborted(options.signal);
    throw ImageError.from(error);
  } finally {
    forget();
  }
}

async function copy(options: CopyOptions, stop: AbortController): Promise<CopiedImage> {
  const { store, fromAuth, toAuth } = options;
  const { signal } = stop;
  const [from, to] = [parseImageLocation(options.from), parseImageLocation(options.to)];
  const at = <T>(image: string, work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw ImageError.from(error, { image });
    });
  const { source, top } = await at(options.from, openSource(from, store, { ...options, auth: fromAuth }, signal));
  let target: ImageTarget | undefined;
  try {
    const only = from.kind === "store" && store ? platformInStore(store, top, options.platform) : undefined;
    const graph = await at(options.from, readContentGraph(source, top, only ?? options.platform, signal));
    target = openTarget(to, store, {
      registry: { ...options, auth: toAuth },
      chunkBytes: options.chunkBytes,
      mountFrom: mountSources(options, from, to),
    });
    const counts = await at(options.to, copyGraph(graph, source, target, options, stop));
    return {
      name: target.name,
      digest: graph.top.descriptor.digest,
      ...counts,
      ...(only !== undefined && options.platform === undefined && { onlyPlatform: printPlatform(only) }),
    };
  } finally {
    await Promise.allSettled([source.close(), target?.close()]);
  }
}

/** The store may have only the pulled image of an index. Then that one is copied. */
function platformInStore(
  store: Store,
  top: { bytes: Uint8Array; mediaType?: string },
  wanted: Platform | undefined,
): Platform | undefined {
  if (wanted !== undefined) return wanted;
  const { images } = internalsOf(store);
  const has = (digest: string): boolean => images.readDocument(digest, MAX_MANIFEST_BYTES) !== undefined;
  const { missing, platforms } = availablePlatforms(top.bytes, top.mediaType, has);
  if (!missing) return undefined;
  return platforms.find((platform) => satisfies(platform, hostPlatform())) ?? platforms[0] ?? hostPlatform();
}

/** Returns the repository of the target's registry that may already have a blob. */
function mountSources(
  options: CopyOptions,
  from: ImageLocation,
  to: ImageLocation,
): (blob: Descriptor) => string | undefined {
  const { mountFrom, store } = options;
  if (to.kind !== "registry") return () => undefined;
  const { registry, repository } = to;
  const other = (name: string | undefined): string | undefined => (name === repository ? undefined : name);
  if (mountFrom !== undefined) return () => other(mountFrom);
  if (from.kind === "registry") {
    const near = from.registry === registry ? other(from.repository) : undefined;
    return () => near;
  }
  let known: ReadonlyMap<string, string> | undefined;
  return ({ digest }) => {
    known ??= store === undefined ? new Map() : knownRepositories(store, registry);
    return other(known.get(digest));
  };
}

async function copyGraph(
  graph: ContentGraph,
  source: ImageSource,
  target: ImageTarget,
  options: CopyOptions,
  stop: AbortController,
): Promise<Pick<CopiedImage, "blobs" | "bytes">> {
  const { signal } = stop;
  const { manifests, missing, present } = await compare(graph, target, signal);
  const counts = { written: 0, present: present.length, mounted: 0 };
  let bytes = 0;
  const all = [...present, ...missing];
  const report: ReportBlob = (blob, done, state) =>
    options.onProgress?.({
      image: target.name,
      digest: blob.digest,
      layer: all.indexOf(blob),
      layers: all.length,
      bytes: done,
      totalBytes: blob.size,
      state,
    });
  for (const blob of present) report(blob, blob.size, "present");
  await inParallel(missing, stop, async (blob) => {
    const outcome = await copyBlob(blob, source, target, report, signal).catch((error: unknown) => {
      // Wrong content is the source's fault, not the target's.
      const wrong = error instanceof ImageError && (error.code === "DigestMismatch" || error.code === "SizeMismatch");
      throw ImageError.from(error, { digest: blob.digest, ...(wrong && { image: options.from }) });
    });
    counts[outcome] += 1;
    if (outcome === "written") bytes += blob.size;
    report(blob, blob.size, outcome === "written" ? "done" : "present");
  });
  for (const { descriptor, bytes } of manifests) await target.manifest(descriptor, bytes, signal);
  await target.finish(graph.top.descriptor, graph.top.bytes, signal);
  return { blobs: counts, bytes };
}

/** Reports the bytes of one blob that were transferred so far. */
type ReportBlob = (blob: Descriptor, done: number, state: Progress["state"]) => void;

/**
 * Compares an image with the target: the manifests below the top one, and all blobs. A manifest that the target has
 * implies that it has the manifest's blobs.
 */
async function compare(
  graph: ContentGraph,
  target: ImageTarget,
  signal: AbortSignal,
): Promise<{ manifests: readonly CopiedManifest[]; missing: readonly Descriptor[]; present: readonly Descriptor[] }> {
  const manifests: CopiedManifest[] = [];
  const missing = new Map<string, Descriptor>();
  const present = new Map<string, Descriptor>();
  const hasAll = await target.hasManifest(graph.top.descriptor, signal);
  for (const manifest of graph.children) {
    const exists = hasAll || (await target.hasManifest(manifest.descriptor, signal));
    if (!exists) manifests.push(manifest);
    for (const blob of manifest.blobs) (exists ? present : missing).set(blob.digest, blob);
  }
  for (const blob of graph.top.blobs) (hasAll ? present : missing).set(blob.digest, blob);
  for (const digest of missing.keys()) present.delete(digest);
  return { manifests, missing: [...missing.values()], present: [...present.values()] };
}

function copyBlob(
  blob: Descriptor,
  source: ImageSource,
  target: ImageTarget,
  report: ReportBlob,
  signal: AbortSignal,
): ReturnType<ImageTarget["blob"]> {
  report(blob, 0, "waiting");
  let reported = 0;
  return target.blob({
    descriptor: blob,
    open: (attempt) => source.blob(blob, attempt),
    onBytes(done) {
      if (done >= reported && done - reported < PROGRESS_STEP_BYTES) return;
      reported = done;
      report(blob, done, "pulling");
    },
    signal,
  });
}

async function inParallel<T>(
  items: readonly T[],
  stop: AbortController,
  work: (item: T) => Promise<void>,
): Promise<void> {
  // All workers take their items from one iterator.
  const queue = items.values();
  let failure: unknown;
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      try {
        await work(item);
      } catch (error) {
        failure ??= error;
        stop.abort();
      }
      if (failure !== undefined) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(MAX_PARALLEL_BLOBS, items.length) }, worker));
  if (failure !== undefined) throw failure;
}
