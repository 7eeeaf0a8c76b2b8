import { statSync, utimesSync } from "node:fs";
import { BoundedCache, stringBytes } from "../base/bounded-cache.ts";
import { ImageError } from "../base/errors.ts";
import { type OnProgress, PROGRESS_STEP_BYTES } from "../base/progress.ts";
import { abortError, SingleFlight, throwIfAborted } from "../base/single-flight.ts";
import { chainIds } from "../image/chain-ids.ts";
import { digestOf, isOfDigest } from "../image/digest.ts";
import type { ImageSource } from "../image/image-source.ts";
import {
  checkPlatform,
  chooseManifest,
  type Descriptor,
  type ImageConfig,
  isIndex,
  MAX_CONFIG_BYTES,
  MAX_MANIFEST_BYTES,
  type Manifest,
  parseConfig,
  parseManifestOrIndex,
  usedConfig,
} from "../image/manifest.ts";
import type { Platform } from "../image/platform.ts";
import { readVerified } from "../image/verified-bytes.ts";
import { unsafe } from "../layer/entry-path.ts";
import type { LayerLimits } from "../layer/layer-limits.ts";
import { fitsOn } from "../layer/layer-record.ts";
import type { LayerStore, StoredLayer } from "./layer-store.ts";
import type { Lease, Leases } from "./leases.ts";
import { lowerView, type ViewedLayer } from "./lower-view.ts";
import { readRecord, readSmallFile, type StoreDirectory } from "./store-directory.ts";

/** An image whose layers are unpacked, without a name. */
export interface ReadyImage {
  readonly digest: string;
  /** Only the fields that runs need. */
  readonly config: ImageConfig;
  readonly layers: readonly string[];
  readonly overlay: boolean;
}

interface ImageRecord {
  readonly version: 1;
  readonly config: ImageConfig;
  /** Keys of the layers' directories. */
  readonly layers: readonly string[];
  readonly overlay: boolean;
}

export interface FetchOptions {
  /** The caller's name for it, for messages and progress. */
  readonly name: string;
  /** If it is absent, everything must be in the store. */
  readonly source: ImageSource | undefined;
  readonly platform: Platform;
  readonly onProgress?: OnProgress | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Concurrent layers of one image. More would share the same bandwidth and the same few threads. */
const MAX_PARALLEL_LAYERS = 4;

/** The resolution of an image's time of last use. */
const TOUCH_MS = 60_000;

/**
 * The heap for images in memory. An ordinary image takes about 5 KB, and its record on disk is read again if it was
 * evicted.
 */
const MAX_READY_BYTES = 16 * 1024 * 1024;

interface KnownImage {
  readonly image: ReadyImage;
  /** When the time of last use was last updated; milliseconds. */
  readonly touchedMs: number;
}

/** Images by the digest of their manifest. */
export class ImageStore {
  readonly #store: StoreDirectory;
  readonly #layers: LayerStore;
  readonly #ready = new BoundedCache<KnownImage>(MAX_READY_BYTES, knownBytes);
  readonly #documents = new SingleFlight<Buffer>();
  readonly #suffix: string;

  readonly #limits: LayerLimits;

  readonly #leases: Leases;

  constructor(store: StoreDirectory, layers: LayerStore, leases: Leases, suffix: string, limits: LayerLimits) {
    this.#store = store;
    this.#leases = leases;
    this.#layers = layers;
    this.#suffix = suffix;
    this.#limits = limits;
  }

  /** Returns the image if it is complete. The content of a digest never changes, so its record is read once. */
  find(digest: string): ReadyImage | undefined {
    // The lease comes first, so that nothing is removed after the check.
    this.#leases.ensure(`image ${digest}`);
    const known = this.#ready.get(digest);
    const image = known?.image ?? this.#read(digest);
    // If a layer was removed meanwhile, the image is prepared again.
    if (image?.layers.every((root) => statSync(root, { throwIfNoEntry: false }) !== undefined))
      return this.#remember(digest, image, known?.touchedMs);
    this.release(digest);
    return undefined;
  }

  /** Forgets an image that this process no longer uses, so that it can be collected. */
  release(digest: string): void {
    this.#ready.delete(digest);
    this.#leases.release(`image ${digest}`);
  }

  /** Updates the time of last use. */
  #touch(digest: string, nowMs: number): void {
    try {
      utimesSync(this.#recordPath(digest), new Date(nowMs), new Date(nowMs));
    } catch {
      // The record was removed concurrently. The image is still in memory, and leased.
    }
  }

  #read(digest: string): ReadyImage | undefined {
    const record = readRecord(this.#recordPath(digest)) as ImageRecord | undefined;
    if (record?.version !== 1) return undefined;
    return {
      digest,
      // Older versions recorded the whole config.
      config: usedConfig(record.config),
      layers: record.layers.map((key) => this.#layers.root(key)),
      overlay: record.overlay,
    };
  }

  /** Returns a manifest, index or config from the store, else from the source, and then stores it. */
  async document(
    descriptor: Pick<Descriptor, "digest" | "size" | "mediaType">,
    options: FetchOptions,
    limit: number,
  ): Promise<Buffer> {
    const stored = this.readDocument(descriptor.digest, limit);
    if (stored !== undefined) return stored;
    const { source, signal } = options;
    if (source === undefined) throw new ImageError("NotFound", "not in the store", { digest: descriptor.digest });
    return this.#documents.run(descriptor.digest, signal, async (shared) => {
      const bytes = await fetchDocument(source, descriptor, limit, shared);
      this.storeDocument(descriptor.digest, bytes);
      return bytes;
    });
  }

  /** Returns a small blob of the store; undefined if it is missing or damaged. */
  readDocument(digest: string, limit: number): Buffer | undefined {
    try {
      const bytes = readSmallFile(this.#store.blobPath(digest), limit);
      return isOfDigest(bytes, digest) ? bytes : undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  storeDocument(digest: string, bytes: Uint8Array): void {
    this.#store.writeAtomically(this.#store.blobPath(digest), bytes);
  }

  /**
   * Prepares the image of a manifest or index: selects the platform's manifest, pulls what is missing, and unpacks it.
   */
  async prepare(
    top: { bytes: Uint8Array; digest: string; mediaType?: string },
    options: FetchOptions,
  ): Promise<ReadyImage> {
    const document = parseManifestOrIndex(top.bytes, top.mediaType);
    if (!isIndex(document)) return this.#prepareManifest(document, top.digest, options);
    const chosen = chooseManifest(document, options.platform);
    const ready = this.find(chosen.digest);
    if (ready !== undefined) return ready;
    const manifest = parseManifestOrIndex(await this.document(chosen, options, MAX_MANIFEST_BYTES), chosen.mediaType);
    // The index may declare the wrong media type.
    if (isIndex(manifest))
      throw new ImageError("InvalidManifest", "an index within an index is not followed", { digest: chosen.digest });
    return this.#prepareManifest(manifest, chosen.digest, options);
  }

  async #prepareManifest(manifest: Manifest, digest: string, options: FetchOptions): Promise<ReadyImage> {
    const ready = this.find(digest);
    if (ready !== undefined) {
      checkPlatform(ready.config, options.platform);
      return ready;
    }
    const bytes = await this.document(manifest.config, options, MAX_CONFIG_BYTES);
    const config = usedConfig(parseConfig(bytes, manifest.layers.length));
    checkPlatform(config, options.platform);
    if (manifest.layers.length === 0) throw new ImageError("InvalidManifest", "the image has no layers");
    const { maxLayers } = this.#limits;
    if (manifest.layers.length > maxLayers)
      throw new ImageError("TooLarge", `${manifest.layers.length} layers, more than ${maxLayers}`);
    const diffIds = config.rootfs?.diff_ids ?? [];
    const parts: Lease[] = [
      `blob ${digest}`,
      `blob ${manifest.config.digest}`,
      ...manifest.layers.map((layer): Lease => `blob ${layer.digest}`),
      ...diffIds.map((diffId): Lease => `layer ${this.#layers.key(diffId)}`),
      ...chainIds(diffIds).map((chainId): Lease => `layer ${this.#layers.key(chainId)}`),
    ];
    this.#leases.acquire(...parts);
    try {
      const layers = await this.#fetchLayers(manifest, diffIds, options);
      const stacked = await this.#stack(layers, manifest, diffIds, options);
      const overlay = stacked.every(({ record }) => record.overlay);
      const record: ImageRecord = { version: 1, config, layers: stacked.map(({ key }) => key), overlay };
      this.#store.writeAtomically(this.#recordPath(digest), JSON.stringify(record));
      return this.#remember(digest, { digest, config, layers: stacked.map(({ root }) => root), overlay });
    } finally {
      this.#leases.release(...parts);
    }
  }

  async #fetchLayers(manifest: Manifest, diffIds: readonly string[], options: FetchOptions): Promise<StoredLayer[]> {
    const { name, source, onProgress } = options;
    const count = manifest.layers.length;
    const results: StoredLayer[] = [];
    // The first failing layer stops the others.
    const stop = new AbortController();
    const abort = (): void => stop.abort(options.signal?.reason);
    options.signal?.addEventListener("abort", abort, { once: true });
    let next = 0;
    let failure: unknown;
    const worker = async (): Promise<void> => {
      while (next < count && failure === undefined) {
        const layer = next++;
        const descriptor = manifest.layers[layer] as Descriptor;
        const { digest, size: totalBytes } = descriptor;
        const report = (state: "waiting" | "pulling" | "done" | "present", bytes: number): void =>
          onProgress?.({ image: name, digest, layer, layers: count, bytes, totalBytes, state });
        let moved = false;
        let reported = 0;
        const onBytes = (bytes: number): void => {
          moved = true;
          if (bytes - reported < PROGRESS_STEP_BYTES) return;
          reported = bytes;
          report("pulling", bytes);
        };
        try {
          report("waiting", 0);
          results[layer] = await this.#layers.ensure({
            descriptor,
            diffId: diffIds[layer] as string,
            source,
            signal: stop.signal,
            onBytes,
          });
          this.#checkTotals(results);
          report(moved ? "done" : "present", totalBytes);
        } catch (error) {
          failure ??= ImageError.from(error, { layer, digest });
          stop.abort();
        }
      }
    };
    try {
      throwIfAborted(options.signal);
      await Promise.all(Array.from({ length: Math.min(MAX_PARALLEL_LAYERS, count) }, worker));
    } finally {
      options.signal?.removeEventListener("abort", abort);
    }
    if (options.signal?.aborted) throw abortError(options.signal);
    if (failure !== undefined) throw failure;
    return results;
  }

  /** Checks the limits of all layers together. */
  #checkTotals(layers: readonly (StoredLayer | undefined)[]): void {
    let entries = 0;
    let bytes = 0;
    for (const layer of layers) {
      entries += layer?.record.entries ?? 0;
      bytes += layer?.record.bytes ?? 0;
    }
    const { maxImageEntries, maxImageBytes } = this.#limits;
    if (entries > maxImageEntries) throw unsafe(`the image has more than ${maxImageEntries} entries`);
    if (bytes > maxImageBytes) throw unsafe(`the image unpacks to more than ${maxImageBytes} bytes`);
  }

  /** Stacks the layers. Unpacks a layer again if it is not correct on top of those below it. */
  async #stack(
    layers: readonly StoredLayer[],
    manifest: Manifest,
    diffIds: readonly string[],
    options: FetchOptions,
  ): Promise<StoredLayer[]> {
    let stacked: StoredLayer[] = [];
    const chains = chainIds(diffIds);
    for (const [i, layer] of layers.entries()) {
      const diffId = diffIds[i] as string;
      if (layer.record.opaque.includes("")) stacked = [];
      const lower = lowerView(stacked.map(viewed));
      const request = {
        descriptor: manifest.layers[i] as Descriptor,
        diffId,
        source: options.source,
        signal: options.signal,
      };
      try {
        const fitting = fitsOn(layer.record, lower)
          ? layer
          : await this.#layers.ensureOn(stacked.map(viewed), layer.record, chains[i] as string, request);
        // overlayfs rejects a directory that occurs twice. The upper occurrence decides about everything in it.
        stacked = [...stacked.filter(({ key }) => key !== fitting.key), fitting];
      } catch (error) {
        throw ImageError.from(error, { layer: i });
      }
    }
    return stacked;
  }

  #remember(digest: string, image: ReadyImage, touchedMs = 0): ReadyImage {
    this.#leases.ensure(`image ${digest}`);
    const nowMs = Date.now();
    if (nowMs - touchedMs < TOUCH_MS) return image;
    this.#ready.set(digest, { image, touchedMs: nowMs });
    this.#touch(digest, nowMs);
    return image;
  }

  #recordPath(digest: string): string {
    return this.#store.imagePath(digest).replace(/\.json$/, `${this.#suffix}.json`);
  }
}

async function fetchDocument(
  source: ImageSource,
  descriptor: Pick<Descriptor, "digest" | "size" | "mediaType">,
  limit: number,
  signal: AbortSignal,
): Promise<Buffer> {
  if (limit !== MAX_MANIFEST_BYTES || !descriptor.mediaType.includes("manifest"))
    return readVerified(await source.blob(descriptor, signal), descriptor, limit);
  const { bytes } = await source.manifest({ digest: descriptor.digest }, signal);
  if (!isOfDigest(bytes, descriptor.digest))
    throw new ImageError("DigestMismatch", `the manifest's digest is ${digestOf(bytes)}`, {
      digest: descriptor.digest,
    });
  if (bytes.length !== descriptor.size)
    throw new ImageError("SizeMismatch", `manifest of ${bytes.length} bytes instead of ${descriptor.size}`, {
      digest: descriptor.digest,
    });
  return Buffer.from(bytes);
}

function knownBytes({ image: { config, layers } }: KnownImage): number {
  const { Env, Entrypoint, Cmd, Labels, User = "", WorkingDir = "", Hostname = "" } = config.config ?? {};
  const labels = Object.entries(Labels ?? {}).flat();
  return stringBytes(layers, config.rootfs?.diff_ids, Env, Entrypoint, Cmd, labels, [User, WorkingDir, Hostname]);
}

function viewed({ root, record }: StoredLayer): ViewedLayer {
  return { root, opaque: new Set(record.opaque) };
}
