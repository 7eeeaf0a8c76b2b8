import { statSync, utimesSync } from "node:fs";
import { BoundedCache, stringBytes } from "../base/bounded-cache.ts";
import { ImageError } from "../base/errors.ts";
import { SingleFlight } from "../base/single-flight.ts";
import { readRecord, readSmallFile } from "../base/small-file.ts";
import { chainIds } from "../image/chain-ids.ts";
import { isOfDigest } from "../image/digest.ts";
import {
  checkPlatform,
  type Descriptor,
  type ImageConfig,
  MAX_CONFIG_BYTES,
  MAX_MANIFEST_BYTES,
  type Manifest,
} from "../image/manifest.ts";
import { isModule, moduleConfig } from "../image/wasm-image.ts";
import type { LayerLimits } from "../layer/layer-limits.ts";
import { readConfig, readManifest } from "../worker/read-documents.ts";
import { fetchDocument } from "./fetch-document.ts";
import { type FetchOptions, ImageLayers } from "./image-layers.ts";
import type { LayerStore, StoredLayer } from "./layer-store.ts";
import type { Lease, Leases } from "./leases.ts";
import { BLOCK_BYTES } from "./mark.ts";
import type { Quota } from "./quota.ts";
import type { StoreDirectory } from "./store-directory.ts";

/** An image whose layers are unpacked, without a name. */
export interface ReadyImage {
  readonly digest: string;
  /** Only the fields that runs need. */
  readonly config: ImageConfig;
  readonly layers: readonly string[];
  readonly overlay: boolean;
  readonly fifos: boolean;
}

interface ImageRecord {
  readonly version: typeof RECORD_VERSION;
  readonly config: ImageConfig;
  /** Keys of the layers' directories. */
  readonly layers: readonly string[];
  readonly overlay: boolean;
  readonly fifos: boolean;
}

/**
 * Images of another version are prepared again from their blobs. Version 1 did not verify that each layer is that of
 * the image's blob.
 */
const RECORD_VERSION = 2;

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

interface ImageStoreParts {
  readonly store: StoreDirectory;
  readonly layers: LayerStore;
  readonly leases: Leases;
  /** Suffix of the names of records, which depends on the owner of the files. */
  readonly suffix: string;
  readonly limits: LayerLimits;
  readonly quota: Quota | undefined;
}

/** Images by the digest of their manifest. */
export class ImageStore {
  readonly #store: StoreDirectory;
  readonly #layers: LayerStore;
  readonly #imageLayers: ImageLayers;
  readonly #ready = new BoundedCache<KnownImage>(MAX_READY_BYTES, knownBytes);
  readonly #documents = new SingleFlight<Buffer>();
  readonly #suffix: string;

  readonly #limits: LayerLimits;

  readonly #leases: Leases;

  readonly #quota: Quota | undefined;
  /** Images for which room is made: by how many calls, and whether another call has got the image meanwhile. */
  readonly #making: Map<string, { calls: number; taken: boolean }> = new Map();

  constructor({ store, layers, leases, suffix, limits, quota }: ImageStoreParts) {
    this.#store = store;
    this.#leases = leases;
    this.#layers = layers;
    this.#imageLayers = new ImageLayers(layers, limits);
    this.#suffix = suffix;
    this.#limits = limits;
    this.#quota = quota;
  }

  /** Returns the image if it is complete. The content of a digest never changes, so its record is read once. */
  find(digest: string): ReadyImage | undefined {
    // The lease comes first, so that nothing is removed after the check.
    this.#leases.ensure(`image ${digest}`);
    const known = this.#ready.get(digest);
    const image = known?.image ?? this.#read(digest);
    // If a layer was removed meanwhile, the image is prepared again.
    if (image?.layers.every((root) => statSync(root, { throwIfNoEntry: false }) !== undefined)) {
      const making = this.#making.get(digest);
      if (making !== undefined) making.taken = true;
      return this.#remember(digest, image, known?.touchedMs);
    }
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
    if (record?.version !== RECORD_VERSION) return undefined;
    return {
      digest,
      config: record.config,
      layers: record.layers.map((key) => this.#layers.root(key)),
      overlay: record.overlay,
      fifos: record.fifos,
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
    const { platform, signal } = options;
    const { bytes, mediaType, digest } = top;
    const document = await readManifest({ bytes, mediaType, platform }, signal);
    if ("manifest" in document) return this.#prepareManifest(document.manifest, digest, options);
    const { chosen } = document;
    const ready = this.find(chosen.digest);
    if (ready !== undefined) return ready;
    const child = await this.document(chosen, options, MAX_MANIFEST_BYTES);
    const image = await readManifest({ bytes: child, mediaType: chosen.mediaType, platform }, signal);
    // The index may declare the wrong media type.
    if ("chosen" in image)
      throw new ImageError("InvalidManifest", "an index within an index is not followed", { digest: chosen.digest });
    return this.#prepareManifest(image.manifest, chosen.digest, options);
  }

  async #prepareManifest(manifest: Manifest, digest: string, options: FetchOptions): Promise<ReadyImage> {
    const ready = this.find(digest);
    if (ready !== undefined) {
      checkPlatform(ready.config, options.platform);
      return ready;
    }
    const bytes = await this.document(manifest.config, options, MAX_CONFIG_BYTES);
    const config = isModule(manifest)
      ? moduleConfig(bytes, manifest)
      : await readConfig({ bytes, layers: manifest.layers.length }, options.signal);
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
      ...manifest.layers.map((layer, i): Lease => `layer ${this.#layers.keyOf(layer, diffIds[i] ?? "")}`),
      ...chainIds(diffIds).map((chainId): Lease => `layer ${this.#layers.key(chainId)}`),
    ];
    this.#leases.acquire(...parts);
    let prepared: { image: ReadyImage; bytes: number };
    try {
      const layers = await this.#imageLayers.fetch(manifest, diffIds, options);
      const stacked = await this.#imageLayers.stack(layers, manifest, diffIds, options);
      const overlay = stacked.every(({ record }) => record.overlay);
      const fifos = stacked.some(({ record }) => record.fifos !== false);
      const record: ImageRecord = {
        version: RECORD_VERSION,
        config,
        layers: stacked.map(({ key }) => key),
        overlay,
        fifos,
      };
      this.#store.writeAtomically(this.#recordPath(digest), JSON.stringify(record));
      const roots = stacked.map(({ root }) => root);
      const image = this.#remember(digest, { digest, config, layers: roots, overlay, fifos });
      prepared = { image, bytes: sizeOnDisk(manifest, new Set([...layers, ...stacked])) };
    } finally {
      this.#leases.release(...parts);
    }
    await this.#makeRoom(digest, prepared.bytes);
    return prepared.image;
  }

  /** Keeps the store within its quota, without the new image if there is no other way. */
  async #makeRoom(digest: string, bytes: number): Promise<void> {
    if (this.#quota === undefined) return;
    const making = this.#making.get(digest) ?? { calls: 0, taken: false };
    this.#making.set(digest, making);
    making.calls += 1;
    try {
      await this.#quota.added(bytes);
      making.taken = true;
    } catch (error) {
      if (making.calls === 1 && !making.taken) {
        this.release(digest);
        await this.#quota.added(0).catch(() => {});
      }
      throw error;
    } finally {
      making.calls -= 1;
      if (making.calls === 0) this.#making.delete(digest);
    }
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

function sizeOnDisk({ config, layers }: Manifest, unpacked: ReadonlySet<StoredLayer>): number {
  let bytes = config.size;
  for (const { size } of layers) bytes += size;
  for (const { record } of unpacked) bytes += record.bytes + BLOCK_BYTES * record.nodes;
  return bytes;
}

function knownBytes({ image: { config, layers } }: KnownImage): number {
  const { Env, Entrypoint, Cmd, Labels, User = "", WorkingDir = "", Hostname = "" } = config.config ?? {};
  const labels = Object.entries(Labels ?? {}).flat();
  return stringBytes(layers, config.rootfs?.diff_ids, Env, Entrypoint, Cmd, labels, [User, WorkingDir, Hostname]);
}
