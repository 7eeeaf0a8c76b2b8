import { closeSync, mkdirSync, openSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { BoundedCache, stringBytes } from "../base/bounded-cache.ts";
import { ImageError } from "../base/errors.ts";
import { SingleFlight } from "../base/single-flight.ts";
import { parseDigest } from "../image/digest.ts";
import type { ImageSource } from "../image/image-source.ts";
import type { Descriptor } from "../image/manifest.ts";
import { type Expected, verifiedBytes } from "../image/verified-bytes.ts";
import type { Owner } from "../layer/layer-files.ts";
import type { LayerLimits } from "../layer/layer-limits.ts";
import { isLayerRecord, type LayerRecord } from "../layer/layer-record.ts";
import { abandon, complete, completeFile, type GrowingFile, grow, growingFile } from "./growing-file.ts";
import type { ViewedLayer } from "./lower-view.ts";
import { spentBuffers } from "./spent-buffers.ts";
import { readRecord, type StoreDirectory } from "./store-directory.ts";
import type { UnpackJob } from "./unpack-job.ts";
import type { UnpackThreads } from "./unpack-threads.ts";

/** A smaller layer is unpacked before a thread for it would have started. */
const MIN_THREAD_BYTES = 2 * 1024 * 1024;
/** Bytes after which the unpacking thread is notified. Waking it costs more than reading this much. */
const WAKE_BYTES = 256 * 1024;
/** Bytes to read after an error in the archive, to find out whether the blob's digest is wrong too. */
const MAX_DRAIN_BYTES = 64 * 1024 * 1024;

/** The heap for records of layers in memory. An ordinary one takes a few KB, and is read again if it was evicted. */
const MAX_KNOWN_BYTES = 16 * 1024 * 1024;

/** An unpacked layer in the store. */
export interface StoredLayer {
  readonly key: string;
  /** The directory with the files. */
  readonly root: string;
  readonly record: LayerRecord;
}

export interface LayerRequest {
  readonly descriptor: Descriptor;
  readonly diffId: string;
  /** For a blob that the store lacks. */
  readonly source: ImageSource | undefined;
  readonly signal: AbortSignal | undefined;
  /** Receives the number of packed bytes so far. */
  readonly onBytes?: (bytes: number) => void;
}

/** Blobs of layers, and their unpacked directories. Each is pulled and unpacked once. */
export class LayerStore {
  readonly #store: StoreDirectory;
  readonly #owner: Owner | undefined;
  readonly #limits: LayerLimits;
  readonly #flights = new SingleFlight<StoredLayer>();
  readonly #known = new BoundedCache<StoredLayer>(MAX_KNOWN_BYTES, layerBytes);
  #threads: Promise<UnpackThreads> | undefined;

  constructor(store: StoreDirectory, owner: Owner | undefined, limits: LayerLimits) {
    this.#store = store;
    this.#owner = owner;
    this.#limits = limits;
  }

  /** The name of a layer's directory, from the digest of its content and the owner of its files. */
  key(digest: string): string {
    const { algorithm, hex } = parseDigest(digest);
    const owner = this.#owner === undefined ? "" : `-${this.#owner.uid}-${this.#owner.gid}`;
    return `${algorithm === "sha256" ? "" : `${algorithm}-`}${hex}${owner}`;
  }

  root(key: string): string {
    return join(this.#store.layerPath(key), "fs");
  }

  /** Returns the layer if it is unpacked. */
  find(key: string): StoredLayer | undefined {
    const root = this.root(key);
    if (statSync(root, { throwIfNoEntry: false }) === undefined) return undefined;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const record = readRecord(join(this.#store.layerPath(key), "layer.json"));
    if (!isLayerRecord(record)) {
      // Directory and record are committed together. So it was damaged later, or another version wrote it.
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

  /**
   * Returns the layer, unpacked alone, and ensures its blob. Pulls, verifies and unpacks in one pass what is missing.
   */
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
          // The file changed after its verification, so it is pulled again.
          this.#store.remove(this.#store.blobPath(request.descriptor.digest));
        }
      }
      return this.#fetch(key, request, signal, unpacked);
    });
  }

  /**
   * Returns the layer, unpacked for its position on top of `lower`, bottom first. Its blob must be in the store.
   *
   * @param alone the record of the layer when it was unpacked alone
   */
  ensureOn(
    lower: readonly ViewedLayer[],
    alone: LayerRecord,
    chainId: string,
    request: LayerRequest,
  ): Promise<StoredLayer> {
    const key = this.key(chainId);
    return this.#flights.run(`${key} on`, request.signal, async (signal) => {
      return this.find(key) ?? (await this.#unpackBlob(key, request, { lower, named: alone.named }, signal));
    });
  }

  /** Unpacks the store's blob. Verifies it again, because the file may have changed. */
  async #unpackBlob(
    key: string,
    request: LayerRequest,
    position: Position | undefined,
    signal: AbortSignal,
  ): Promise<StoredLayer> {
    const file = completeFile(this.#store.blobPath(request.descriptor.digest));
    const stop = (): void => abandon(file);
    signal.addEventListener("abort", stop, { once: true });
    const unpacking = this.#unpack(file, request, position, request.descriptor, signal);
    try {
      return this.#commit(key, await unpacking.record, unpacking.directory);
    } catch (error) {
      this.#store.remove(unpacking.directory);
      throw ImageError.from(error, { digest: request.descriptor.digest });
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Pulls and verifies a blob. Unpacks it at the same time, unless it is unpacked already. */
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
      let rejection: unknown;
      unpacking?.record.catch((error: unknown) => (rejection = error));
      let received = 0;
      let notified = 0;
      for await (const chunk of verifiedBytes(stream, descriptor)) {
        if (signal.aborted) throw new ImageError("Aborted", "aborted by the caller");
        // Damage breaks the archive before the digest is known, but a wrong digest is the better error.
        if (rejection !== undefined && descriptor.size - received > MAX_DRAIN_BYTES) throw rejection;
        for (let at = 0; at < chunk.length; ) at += writeSync(descriptorOfFile, chunk, at);
        received += chunk.length;
        if (received - notified >= WAKE_BYTES) {
          grow(file, received);
          notified = received;
        }
        onBytes?.(received);
        spentBuffers(chunk.length);
      }
      grow(file, received);
      complete(file);
      const record = await unpacking?.record;
      this.#store.commit(temporary, this.#store.blobPath(descriptor.digest));
      if (unpacked !== undefined) return unpacked;
      if (record === undefined || unpacking === undefined) throw new TypeError("nothing was unpacked");
      return this.#commit(key, record, unpacking.directory);
    } catch (error) {
      abandon(file);
      // Callers rely on the unpacking having stopped when this throws.
      await unpacking?.record.catch(() => {});
      if (unpacking !== undefined) this.#store.remove(unpacking.directory);
      throw ImageError.from(error, { digest: descriptor.digest });
    } finally {
      if (opened !== undefined) closeSync(opened);
      this.#store.remove(temporary);
    }
  }

  #unpack(
    file: GrowingFile,
    { descriptor, diffId }: LayerRequest,
    position: Position | undefined,
    verify: Expected | undefined,
    signal: AbortSignal,
  ): Unpacking {
    const directory = this.#store.temporary();
    try {
      // Searchable for the owner of the files. Only this user can search the store itself.
      mkdirSync(directory, { mode: 0o755 });
    } catch (error) {
      this.#store.remove(directory);
      throw error;
    }
    const job: UnpackJob = {
      file,
      root: join(directory, "fs"),
      limits: this.#limits,
      owner: this.#owner,
      lower: position?.lower,
      named: position?.named,
      diffId,
      packedBytes: descriptor.size,
      verify: verify && { digest: verify.digest, size: verify.size },
    };
    return { directory, record: this.#run(job, signal) };
  }

  // Loaded on demand, so that a call of a cached image does not load parsers and threads.
  async #run(job: UnpackJob, signal: AbortSignal): Promise<LayerRecord> {
    if (job.packedBytes < MIN_THREAD_BYTES) return (await import("./unpack-job.ts")).unpackHere(job);
    this.#threads ??= import("./unpack-threads.ts").then(({ UnpackThreads }) => new UnpackThreads());
    return (await this.#threads).run(job, signal);
  }

  #commit(key: string, record: LayerRecord, directory: string): StoredLayer {
    writeFileSync(join(directory, "layer.json"), JSON.stringify(record), { mode: 0o600 });
    this.#store.commit(directory, this.#store.layerPath(key));
    const layer = this.find(key);
    if (layer === undefined)
      throw new ImageError("StoreFailed", `another process removed ${this.#store.layerPath(key)}`);
    return layer;
  }
}

function layerBytes({ key, root, record }: StoredLayer): number {
  const { implied, hollow, whiteouts, opaque, named } = record;
  return stringBytes([key, root], implied, hollow, whiteouts, opaque, named.whiteouts, named.marks);
}

/** The layers that a layer is unpacked on top of, and the paths of them that it hides. */
interface Position {
  readonly lower: readonly ViewedLayer[];
  readonly named: LayerRecord["named"];
}

/** A layer that is being unpacked into a temporary directory. */
interface Unpacking {
  readonly directory: string;
  readonly record: Promise<LayerRecord>;
}
