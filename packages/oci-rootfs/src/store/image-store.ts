import { createHash } from "node:crypto";
import { statSync, utimesSync } from "node:fs";
import { ImageError } from "../base/errors.ts";
import { type OnProgress, PROGRESS_STEP_BYTES } from "../base/progress.ts";
import { abortError, SingleFlight, throwIfAborted } from "../base/single-flight.ts";
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

/** An image whose layers are unpacked, whatever it is called. */
export interface ReadyImage {
  readonly digest: string;
  readonly config: ImageConfig;
  readonly layers: readonly string[];
  readonly overlay: boolean;
}

interface ImageRecord {
  readonly version: 1;
  readonly config: ImageConfig;
  /** Keys of the layers' folders. */
  readonly layers: readonly string[];
  readonly overlay: boolean;
}

export interface FetchOptions {
  /** As the caller calls it; for messages and progress. */
  readonly name: string;
  /** Absent: everything must be in the store. */
  readonly source: ImageSource | undefined;
  readonly platform: Platform;
  readonly onProgress?: OnProgress | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Layers of one image at a time: more would only share the same line and the same two threads. */
const MAX_PARALLEL_LAYERS = 4;

/** How exactly the store knows when an image was used last. */
const TOUCH_MS = 60_000;

/** Images by the digest of their manifest. */
export class ImageStore {
  readonly #store: StoreDirectory;
  readonly #layers: LayerStore;
  readonly #ready = new Map<string, ReadyImage>();
  readonly #documents = new SingleFlight<Buffer>();
  readonly #suffix: string;

  readonly #limits: LayerLimits;

  readonly #leases: Leases;
  readonly #touched = new Map<string, number>();

  constructor(store: StoreDirectory, layers: LayerStore, leases: Leases, suffix: string, limits: LayerLimits) {
    this.#store = store;
    this.#leases = leases;
    this.#layers = layers;
    this.#suffix = suffix;
    this.#limits = limits;
  }

  /** The image if everything of it is in place. What a digest stands for never changes, so it is looked up once. */
  find(digest: string): ReadyImage | undefined {
    // Before the look: what is there then stays.
    this.#leases.keep(`image ${digest}`);
    const image = this.#ready.get(digest) ?? this.#read(digest);
    // Someone may have removed a layer while we run; then the image is made ready again.
    if (image?.layers.every((root) => statSync(root, { throwIfNoEntry: false }) !== undefined))
      return this.#remember(digest, image);
    this.#ready.delete(digest);
    this.#leases.release(`image ${digest}`);
    return undefined;
  }

  /** For collection by last use. */
  #touch(digest: string): void {
    const now = Date.now();
    if (now - (this.#touched.get(digest) ?? 0) < TOUCH_MS) return;
    this.#touched.set(digest, now);
    try {
      utimesSync(this.#recordPath(digest), new Date(now), new Date(now));
    } catch {
      // Removed a moment ago; it is still ready in memory, and leased.
    }
  }

  #read(digest: string): ReadyImage | undefined {
    const record = readRecord(this.#recordPath(digest)) as ImageRecord | undefined;
    if (record?.version !== 1) return undefined;
    return {
      digest,
      config: record.config,
      layers: record.layers.map((key) => this.#layers.root(key)),
      overlay: record.overlay,
    };
  }

  /** Bytes of a manifest, index or config: from the store, else from the source and then kept. */
  async document(
    descriptor: Pick<Descriptor, "digest" | "size" | "mediaType">,
    options: FetchOptions,
    limit: number,
  ): Promise<Buffer> {
    const kept = this.readDocument(descriptor.digest, limit);
    if (kept !== undefined) return kept;
    const { source, signal } = options;
    if (source === undefined) throw new ImageError("NotFound", "not in the store", { digest: descriptor.digest });
    return this.#documents.run(descriptor.digest, signal, async (shared) => {
      const bytes = await fetchDocument(source, descriptor, limit, shared);
      this.keepDocument(descriptor.digest, bytes);
      return bytes;
    });
  }

  /** A small blob of the store; undefined where it is missing or damaged. */
  readDocument(digest: string, limit: number): Buffer | undefined {
    try {
      const bytes = readSmallFile(this.#store.blobPath(digest), limit);
      return isOfDigest(bytes, digest) ? bytes : undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  keepDocument(digest: string, bytes: Uint8Array): void {
    this.#store.writeAtomically(this.#store.blobPath(digest), bytes);
  }

  /**
   * Makes the image ready that a manifest or index describes: chooses the platform's manifest, fetches what is
   * missing, unpacks.
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
    // What the index calls a manifest could be an index after all.
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
    const config = parseConfig(await this.document(manifest.config, options, MAX_CONFIG_BYTES), manifest.layers.length);
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
      ...chainsOf(diffIds).map((chainId): Lease => `layer ${this.#layers.key(chainId)}`),
    ];
    this.#leases.hold(...parts);
    try {
      const layers = await this.#fetchLayers(manifest, diffIds, options);
      const placed = await this.#place(layers, manifest, diffIds, options);
      const overlay = placed.every(({ record }) => record.overlay);
      const record: ImageRecord = { version: 1, config, layers: placed.map(({ key }) => key), overlay };
      this.#store.writeAtomically(this.#recordPath(digest), JSON.stringify(record));
      return this.#remember(digest, { digest, config, layers: placed.map(({ root }) => root), overlay });
    } finally {
      this.#leases.release(...parts);
    }
  }

  async #fetchLayers(manifest: Manifest, diffIds: readonly string[], options: FetchOptions): Promise<StoredLayer[]> {
    const { name, source, onProgress } = options;
    const count = manifest.layers.length;
    const results: StoredLayer[] = [];
    // The first layer that fails stops the others: nobody waits for them any more.
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

  /** Each layer is within its own limits; all together may still be too much. */
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

  /** Puts the layers on each other, and unpacks those again that do not fit where they are to lie. */
  async #place(
    layers: readonly StoredLayer[],
    manifest: Manifest,
    diffIds: readonly string[],
    options: FetchOptions,
  ): Promise<StoredLayer[]> {
    let placed: StoredLayer[] = [];
    const chainIds = chainsOf(diffIds);
    for (const [i, layer] of layers.entries()) {
      const diffId = diffIds[i] as string;
      if (layer.record.opaque.includes("")) placed = [];
      const lower = lowerView(placed.map(viewed));
      const request = {
        descriptor: manifest.layers[i] as Descriptor,
        diffId,
        source: options.source,
        signal: options.signal,
      };
      try {
        const fitting = fitsOn(layer.record, lower)
          ? layer
          : await this.#layers.ensureOn(placed.map(viewed), layer.record, chainIds[i] as string, request);
        // overlayfs refuses one directory twice; the upper one has the last word on everything that is in it.
        placed = [...placed.filter(({ key }) => key !== fitting.key), fitting];
      } catch (error) {
        throw ImageError.from(error, { layer: i });
      }
    }
    return placed;
  }

  #remember(digest: string, image: ReadyImage): ReadyImage {
    this.#ready.set(digest, image);
    this.#leases.keep(`image ${digest}`);
    this.#touch(digest);
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

function viewed({ root, record }: StoredLayer): ViewedLayer {
  return { root, opaque: new Set(record.opaque) };
}

/** Names of the layers for their places: the lowest has another by itself, too. */
function chainsOf(diffIds: readonly string[]): string[] {
  let below = "";
  return diffIds.map((diffId, i) => {
    below = i === 0 ? diffId : chain(below, diffId);
    return i === 0 ? chain("", diffId) : below;
  });
}

/** ChainID of the image specification ("Layer ChainID"): names a layer together with all below it. */
function chain(below: string, diffId: string): string {
  return `sha256:${createHash("sha256").update(`${below} ${diffId}`).digest("hex")}`;
}
