import type { RegistryAuth } from "@xfn/runner-contract";
import { ImageError } from "../base/errors.ts";
import { type OnProgress, PROGRESS_STEP_BYTES, type Progress } from "../base/progress.ts";
import { throwIfAborted } from "../base/single-flight.ts";
import { type ContentGraph, type CopiedManifest, platformsAtHand, readContentGraph } from "../image/content-graph.ts";
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
  /** The same. */
  to: string;
  /** For names of a store. */
  store?: Store | undefined;
  /** Of an index only the image for this one. Default: all of it. */
  platform?: Platform | undefined;
  /** For the registry of `from`; comes before `credentials`. */
  fromAuth?: RegistryAuth | undefined;
  /** For the registry of `to`; comes before `credentials`. */
  toAuth?: RegistryAuth | undefined;
  /** A repository of the registry of `to` that may have some of the blobs. Default: what is known of the source and the store. */
  mountFrom?: string | undefined;
  /** Uploads in pieces of so many bytes. Default: each blob at once. */
  chunkBytes?: number | undefined;
  /** `layer` counts all that is copied, configs too. */
  onProgress?: OnProgress | undefined;
  signal?: AbortSignal | undefined;
}

export interface CopiedImage {
  /** The full name of the copy. */
  readonly name: string;
  /** Of the manifest or index that the name stands for now. */
  readonly digest: string;
  /** Blobs that had to be sent or written, and those that were there, or that the registry had in another repository. */
  readonly blobs: { readonly written: number; readonly present: number; readonly mounted: number };
  /** Bytes of those that were written. */
  readonly bytes: number;
  /** Set where an index was to be copied of which the store holds only this platform's image. */
  readonly onlyPlatform?: string;
}

/** Blobs at a time, as when pulling. */
const MAX_PARALLEL_BLOBS = 4;

/**
 * Copies an image, or all images of an index, between a registry, a layout and a store, byte for byte: digests stay. Only what
 * is missing there moves, and it has its name only when all of it is there.
 *
 * @throws ImageError
 */
export async function copyImage(options: CopyOptions): Promise<CopiedImage> {
  throwIfAborted(options.signal);
  // The first blob that fails stops the others.
  const stop = new AbortController();
  const abort = (): void => stop.abort(options.signal?.reason);
  options.signal?.addEventListener("abort", abort, { once: true });
  try {
    return await copy(options, stop);
  } catch (error) {
    throwIfAborted(options.signal);
    throw ImageError.from(error);
  } finally {
    options.signal?.removeEventListener("abort", abort);
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
    const only = from.kind === "store" ? platformInStore(store as Store, top, options.platform) : undefined;
    const graph = await at(options.from, readContentGraph(source, top, only ?? options.platform, signal));
    target = openTarget(to, store, {
      registry: { ...options, auth: toAuth },
      chunkBytes: options.chunkBytes,
      mountFrom: mounts(options, from, to),
    });
    const counts = await at(options.to, copyGraph(graph, source, target, options, stop));
    return {
      name: target.name,
      digest: graph.top.digest,
      ...counts,
      ...(only !== undefined && options.platform === undefined && { onlyPlatform: printPlatform(only) }),
    };
  } finally {
    await Promise.allSettled([source.close(), target?.close()]);
  }
}

/** A pulled image is one of several of an index, of which the store need not have the others. */
function platformInStore(
  store: Store,
  top: { bytes: Uint8Array; mediaType?: string },
  wanted: Platform | undefined,
): Platform | undefined {
  if (wanted !== undefined) return wanted;
  const { images } = internalsOf(store);
  const has = (digest: string): boolean => images.readDocument(digest, MAX_MANIFEST_BYTES) !== undefined;
  const { missing, platforms } = platformsAtHand(top.bytes, top.mediaType, has);
  if (!missing) return undefined;
  return platforms.find((platform) => satisfies(platform, hostPlatform())) ?? platforms[0] ?? hostPlatform();
}

/** Where the target's registry may have a blob already. */
function mounts(
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
  const missing: CopiedManifest[] = [];
  const blobs = new Map<string, Descriptor>();
  const there = new Map<string, Descriptor>();
  const whole = await target.hasManifest(graph.top, signal);
  for (const manifest of graph.manifests) {
    const present = whole || (await target.hasManifest(manifest.descriptor, signal));
    if (!present) missing.push(manifest);
    for (const blob of manifest.blobs) (present ? there : blobs).set(blob.digest, blob);
  }
  for (const digest of blobs.keys()) there.delete(digest);
  const counts = { written: 0, present: there.size, mounted: 0 };
  let bytes = 0;
  const all = [...there.values(), ...blobs.values()];
  const report = (blob: Descriptor, done: number, state: Progress["state"]): void =>
    options.onProgress?.({
      image: target.name,
      digest: blob.digest,
      layer: all.indexOf(blob),
      layers: all.length,
      bytes: done,
      totalBytes: blob.size,
      state,
    });
  for (const blob of there.values()) report(blob, blob.size, "present");
  await inParallel([...blobs.values()], stop, async (blob) => {
    report(blob, 0, "waiting");
    let reported = 0;
    const writing = target.blob({
      descriptor: blob,
      open: (attempt) => source.blob(blob, attempt),
      onBytes(done) {
        if (done >= reported && done - reported < PROGRESS_STEP_BYTES) return;
        reported = done;
        report(blob, done, "pulling");
      },
      signal,
    });
    const outcome = await writing.catch((error: unknown) => {
      // Wrong content is the source's doing.
      const wrong = error instanceof ImageError && (error.code === "DigestMismatch" || error.code === "SizeMismatch");
      throw ImageError.from(error, { digest: blob.digest, ...(wrong && { image: options.from }) });
    });
    counts[outcome] += 1;
    if (outcome === "written") bytes += blob.size;
    report(blob, blob.size, outcome === "written" ? "done" : "present");
  });
  const last = graph.manifests.at(-1) as CopiedManifest;
  for (const { descriptor, bytes } of missing) {
    if (descriptor.digest !== last.descriptor.digest) await target.manifest(descriptor, bytes, signal);
  }
  await target.finish(last.descriptor, last.bytes, signal);
  return { blobs: counts, bytes };
}

async function inParallel<T>(
  items: readonly T[],
  stop: AbortController,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failure: unknown;
  const worker = async (): Promise<void> => {
    while (next < items.length && failure === undefined) {
      const item = items[next++] as T;
      try {
        await work(item);
      } catch (error) {
        failure ??= error;
        stop.abort();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(MAX_PARALLEL_BLOBS, items.length) }, worker));
  if (failure !== undefined) throw failure;
}
