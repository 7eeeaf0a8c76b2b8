import { closeSync, mkdirSync, openSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { ImageError } from "../base/errors.ts";
import { SingleFlight } from "../base/single-flight.ts";
import { parseDigest } from "../image/digest.ts";
import type { ImageSource } from "../image/image-source.ts";
import type { Descriptor } from "../image/manifest.ts";
import { type Expected, verifiedBytes } from "../image/verified-bytes.ts";
import type { LayerLimits } from "../layer/layer-limits.ts";
import { isLayerRecord, type LayerRecord } from "../layer/layer-record.ts";
import type { Owner } from "../layer/layer-writer.ts";
import { completed, type GrowingFile, givenUp, growingFile, grown, wholeFile } from "./growing-file.ts";
import type { ViewedLayer } from "./lower-view.ts";
import { spentBuffers } from "./spent-buffers.ts";
import { readRecord, type StoreDirectory } from "./store-directory.ts";
import type { UnpackJob } from "./unpack-job.ts";
import type { UnpackThreads } from "./unpack-threads.ts";

/** A layer that packs to less is unpacked before a thread for it would have started. */
const MIN_THREAD_BYTES = 2 * 1024 * 1024;
/** Whoever unpacks a layer is woken when so much more of it is there: waking a thread costs more than reading what it is woken for. */
const WAKE_BYTES = 256 * 1024;
/** So much more is read of a layer that cannot be unpacked, to say whether its digest was wrong in the first place. */
const MAX_DRAIN_BYTES = 64 * 1024 * 1024;

/** An unpacked layer of the store. */
export interface StoredLayer {
  readonly key: string;
  /** The directory with the files. */
  readonly root: string;
  readonly record: LayerRecord;
}

export interface LayerRequest {
  readonly descriptor: Descriptor;
  readonly diffId: string;
  /** Where to get the blob if the store lacks it. */
  readonly source: ImageSource | undefined;
  readonly signal: AbortSignal | undefined;
  /** Packed bytes received so far. */
  readonly onBytes?: (bytes: number) => void;
}

/** Blobs of layers, and the directories made of them; each fetched and unpacked once. */
export class LayerStore {
  readonly #store: StoreDirectory;
  readonly #owner: Owner | undefined;
  readonly #limits: LayerLimits;
  readonly #flights = new SingleFlight<StoredLayer>();
  readonly #known = new Map<string, StoredLayer>();
  #threads: Promise<UnpackThreads> | undefined;

  constructor(store: StoreDirectory, owner: Owner | undefined, limits: LayerLimits) {
    this.#store = store;
    this.#owner = owner;
    this.#limits = limits;
  }

  /** The folder's name for a layer: by its unpacked content, and by whose the files are. */
  key(digest: string): string {
    const { algorithm, hex } = parseDigest(digest);
    const owner = this.#owner === undefined ? "" : `-${this.#owner.uid}-${this.#owner.gid}`;
    return `${algorithm === "sha256" ? "" : `${algorithm}-`}${hex}${owner}`;
  }

  root(key: string): string {
    return join(this.#store.layerPath(key), "fs");
  }

  /** The layer if it is unpacked. */
  find(key: string): StoredLayer | undefined {
    const root = this.root(key);
    if (statSync(root, { throwIfNoEntry: false }) === undefined) return undefined;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const record = readRecord(join(this.#store.layerPath(key), "layer.json"));
    if (!isLayerRecord(record)) {
      // Folder and record came into place as one, so this one has been damaged since, or another version wrote it.
      const aside = this.#store.temporary();
      this.#store.commit(this.#store.layerPath(key), aside);
      this.#store.remove(aside);
      return undefined;
    }
    const layer = { key, root, record };
    this.#known.set(key, layer);
    return layer;
  }

  hasBlob(descriptor: Descriptor): boolean {
    return statSync(this.#store.blobPath(descriptor.digest), { throwIfNoEntry: false })?.size === descriptor.size;
  }

  /** The layer by itself, and its blob: fetched, verified and unpacked in one pass where they are missing. */
  ensure(request: LayerRequest): Promise<StoredLayer> {
    const key = this.key(request.diffId);
    return this.#flights.run(`${key} ${request.descriptor.digest}`, request.signal, async (signal) => {
      const unpacked = this.find(key);
      if (this.hasBlob(request.descriptor)) {
        if (unpacked !== undefined) return unpacked;
        try {
          return await this.#unpackBlob(key, request, undefined, signal);
        } catch (error) {
          const damaged =
            error instanceof ImageError && (error.code === "DigestMismatch" || error.code === "SizeMismatch");
          if (!damaged || request.source === undefined) throw error;
          // Something has changed the file since it was verified: fetch it again.
          this.#store.remove(this.#store.blobPath(request.descriptor.digest));
        }
      }
      return this.#fetch(key, request, signal, unpacked);
    });
  }

  /**
   * The layer as it must look on top of these layers, bottom first; its blob is in the store, and `itself` is what it was when
   * it was unpacked alone.
   */
  ensureOn(
    lower: readonly ViewedLayer[],
    itself: LayerRecord,
    chainId: string,
    request: LayerRequest,
  ): Promise<StoredLayer> {
    const key = this.key(chainId);
    return this.#flights.run(`${key} on`, request.signal, async (signal) => {
      return this.find(key) ?? (await this.#unpackBlob(key, request, { lower, named: itself.named }, signal));
    });
  }

  /** From the store's own copy, which something may have changed since it was verified. */
  async #unpackBlob(
    key: string,
    request: LayerRequest,
    place: Place | undefined,
    signal: AbortSignal,
  ): Promise<StoredLayer> {
    const file = wholeFile(this.#store.blobPath(request.descriptor.digest));
    const stop = (): void => givenUp(file);
    signal.addEventListener("abort", stop, { once: true });
    const unpacking = this.#unpack(file, request, place, request.descriptor, signal);
    try {
      return this.#commit(key, await unpacking.record, unpacking.folder);
    } catch (error) {
      this.#store.remove(unpacking.folder);
      throw ImageError.from(error, { digest: request.descriptor.digest });
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Fetched, verified and, unless it is unpacked already, unpacked as it comes. */
  async #fetch(
    key: string,
    request: LayerRequest,
    signal: AbortSignal,
    unpacked: StoredLayer | undefined,
  ): Promise<StoredLayer> {
    const { descriptor, source, onBytes } = request;
    if (source === undefined) throw new ImageError("NotFound", "not in the store", { digest: descriptor.digest });
    const temporary = this.#store.temporary();
    const file = growingFile(temporary);
    let opened: number | undefined;
    let unpacking: Unpacking | undefined;
    try {
      const descriptorOfFile = openSync(temporary, "wx", 0o600);
      opened = descriptorOfFile;
      const stream = await source.blob(descriptor, signal);
      unpacking = unpacked === undefined ? this.#unpack(file, request, undefined, undefined, signal) : undefined;
      let refused: unknown;
      unpacking?.record.catch((error: unknown) => (refused = error));
      let received = 0;
      let told = 0;
      for await (const chunk of verifiedBytes(stream, descriptor)) {
        if (signal.aborted) throw new ImageError("Aborted", "aborted by the caller");
        // A flipped bit mostly breaks the archive first; that the digest is wrong is the better answer.
        if (refused !== undefined && descriptor.size - received > MAX_DRAIN_BYTES) throw refused;
        for (let at = 0; at < chunk.length; ) at += writeSync(descriptorOfFile, chunk, at);
        received += chunk.length;
        if (received - told >= WAKE_BYTES) {
          grown(file, received);
          told = received;
        }
        onBytes?.(received);
        spentBuffers(chunk.length);
      }
      grown(file, received);
      completed(file);
      const record = await unpacking?.record;
      this.#store.commit(temporary, this.#store.blobPath(descriptor.digest));
      if (unpacked !== undefined) return unpacked;
      if (record === undefined || unpacking === undefined) throw new TypeError("nothing was unpacked");
      return this.#commit(key, record, unpacking.folder);
    } catch (error) {
      givenUp(file);
      // Who is told that it failed may rely on nothing being written any more.
      await unpacking?.record.catch(() => {});
      if (unpacking !== undefined) this.#store.remove(unpacking.folder);
      throw ImageError.from(error, { digest: descriptor.digest });
    } finally {
      if (opened !== undefined) closeSync(opened);
      this.#store.remove(temporary);
    }
  }

  #unpack(
    file: GrowingFile,
    { descriptor, diffId }: LayerRequest,
    place: Place | undefined,
    verify: Expected | undefined,
    signal: AbortSignal,
  ): Unpacking {
    const folder = this.#store.temporary();
    try {
      // Searchable for the owner of the files; the store itself is closed to others.
      mkdirSync(folder, { mode: 0o755 });
    } catch (error) {
      this.#store.remove(folder);
      throw error;
    }
    const job: UnpackJob = {
      file,
      root: join(folder, "fs"),
      limits: this.#limits,
      owner: this.#owner,
      lower: place?.lower,
      named: place?.named,
      diffId,
      packedBytes: descriptor.size,
      verify: verify && { digest: verify.digest, size: verify.size },
    };
    return { folder, record: this.#run(job, signal) };
  }

  // Loaded when it is needed: a call of a cached image does not pay for parsers and threads.
  async #run(job: UnpackJob, signal: AbortSignal): Promise<LayerRecord> {
    if (job.packedBytes < MIN_THREAD_BYTES) return (await import("./unpack-job.ts")).unpackHere(job);
    this.#threads ??= import("./unpack-threads.ts").then(({ UnpackThreads }) => new UnpackThreads());
    return (await this.#threads).run(job, signal);
  }

  #commit(key: string, record: LayerRecord, folder: string): StoredLayer {
    writeFileSync(join(folder, "layer.json"), JSON.stringify(record), { mode: 0o600 });
    this.#store.commit(folder, this.#store.layerPath(key));
    const layer = this.find(key);
    if (layer === undefined) throw new ImageError("StoreFailed", `${this.#store.layerPath(key)} vanished`);
    return layer;
  }
}

/** The layers that one is unpacked for, and what it hides of them. */
interface Place {
  readonly lower: readonly ViewedLayer[];
  readonly named: LayerRecord["named"];
}

/** A layer that is being unpacked into a temporary folder. */
interface Unpacking {
  readonly folder: string;
  readonly record: Promise<LayerRecord>;
}
