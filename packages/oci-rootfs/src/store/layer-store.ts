import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { onAbort } from "@xfn/lifetime";
import { BoundedCache, stringBytes } from "../base/bounded-cache.ts";
import { ImageError } from "../base/errors.ts";
import { SingleFlight } from "../base/single-flight.ts";
import { parseDigest } from "../image/digest.ts";
import type { ImageSource } from "../image/image-source.ts";
import type { Descriptor } from "../image/manifest.ts";
import { verifiedBytes } from "../image/verified-bytes.ts";
import { isModuleLayer } from "../image/wasm-image.ts";
import type { Owner } from "../layer/layer-files.ts";
import type { LayerLimits } from "../layer/layer-limits.ts";
import type { LayerRecord } from "../layer/layer-record.ts";
import { abandon, complete, completeFile, type GrowingFile, grow, growingFile } from "../worker/growing-file.ts";
import { readLayerRecord } from "../worker/layer-record-files.ts";
import { runInWorker } from "../worker/run-in-worker.ts";
import type { PackedLayer, Position } from "../worker/unpack-job.ts";
import { LayerUnpacker, type Unpacking } from "./layer-unpacker.ts";
import { spentBuffers } from "./spent-buffers.ts";
import type { StoreDirectory } from "./store-directory.ts";

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
  readonly #unpacker: LayerUnpacker;
  readonly #flights = new SingleFlight<StoredLayer>();
  readonly #known = new BoundedCache<StoredLayer>(MAX_KNOWN_BYTES, layerBytes);

  constructor(store: StoreDirectory, owner: Owner | undefined, limits: LayerLimits) {
    this.#store = store;
    this.#owner = owner;
    this.#limits = limits;
    this.#unpacker = new LayerUnpacker(store, owner);
  }

  /** The name of a layer's directory, from the digest of its content and the owner of its files. */
  key(digest: string): string {
    const { algorithm, hex } = parseDigest(digest);
    const owner = this.#owner === undefined ? "" : `-${this.#owner.uid}-${this.#owner.gid}`;
    return `${algorithm === "sha256" ? "" : `${algorithm}-`}${hex}${owner}`;
  }

  /**
   * The name of the directory of a layer that is unpacked alone. A module has another one than an archive of the same
   * bytes, so that neither image can replace the other's files.
   */
  keyOf({ mediaType }: Descriptor, diffId: string): string {
    return isModuleLayer(mediaType) ? `wasm-${this.key(diffId)}` : this.key(diffId);
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
    const record = readLayerRecord(root);
    if (record === undefined) {
      // Directory and record are committed together. So it was damaged later, or another version wrote it.
      this.#store.discard(this.#store.layerPath(key));
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
   * A blob is only accepted for a layer if it unpacks to it, even if the layer is unpacked already.
   */
  ensure(request: LayerRequest): Promise<StoredLayer> {
    const { descriptor, diffId } = request;
    const key = this.keyOf(descriptor, diffId);
    return this.#flights.run(`${key} ${descriptor.digest}`, request.signal, async (signal) => {
      const unpacked = this.find(key);
      if (this.hasBlob(descriptor)) {
        if (unpacked !== undefined && this.#store.unpackedDigest(descriptor.digest) === diffId) return unpacked;
        try {
          return unpacked === undefined
            ? await this.#unpackBlob(key, request, undefined, signal)
            : await this.#verifyBlob(request, unpacked, signal);
        } catch (error) {
          const damaged = error instanceof ImageError && error.digest === descriptor.digest && isDamage(error);
          if (!damaged || request.source === undefined) throw error;
          // The file may have changed after its verification, so it is pulled again.
          this.#store.remove(this.#store.blobPath(descriptor.digest));
        }
      }
      return this.#fetch(key, request, signal, unpacked);
    });
  }

  /**
   * Returns the layer, unpacked for its position on top of other layers. Its blob must be in the store.
   *
   * @param chainId identifies the layer together with those below
   */
  ensureOn(position: Position, chainId: string, request: LayerRequest): Promise<StoredLayer> {
    const key = this.key(chainId);
    return this.#flights.run(`${key} on`, request.signal, async (signal) => {
      return this.find(key) ?? (await this.#unpackBlob(key, request, position, signal));
    });
  }

  /** Unpacks the store's blob. Verifies it again, because the file may have changed. */
  async #unpackBlob(
    key: string,
    request: LayerRequest,
    position: Position | undefined,
    signal: AbortSignal,
  ): Promise<StoredLayer> {
    return await this.#readingBlob(request, signal, async (packed) => {
      const unpacking = this.#unpacker.start(packed, position, signal);
      try {
        await unpacking.record;
        return this.#commit(key, request, unpacking.directory);
      } catch (error) {
        this.#store.discard(unpacking.directory);
        throw error;
      }
    });
  }

  /** Verifies that the store's blob is that of an unpacked layer. */
  async #verifyBlob(request: LayerRequest, unpacked: StoredLayer, signal: AbortSignal): Promise<StoredLayer> {
    return await this.#readingBlob(request, signal, async (packed) => {
      await runInWorker("verify", packed, { signal });
      this.#store.recordUnpackedDigest(request.descriptor.digest, request.diffId);
      return unpacked;
    });
  }

  async #readingBlob(
    request: LayerRequest,
    signal: AbortSignal,
    work: (packed: PackedLayer) => Promise<StoredLayer>,
  ): Promise<StoredLayer> {
    const { digest, size } = request.descriptor;
    const file = completeFile(this.#store.blobPath(digest));
    const forget = onAbort(signal, () => abandon(file));
    try {
      return await work({ ...this.#packed(request, file), verify: { digest, size } });
    } catch (error) {
      throw ImageError.from(error, { digest });
    } finally {
      forget();
    }
  }

  /** Pulls and verifies a blob. Unpacks it at the same time, unless it is unpacked already. */
  async #fetch(
    key: string,
    request: LayerRequest,
    signal: AbortSignal,
    unpacked: StoredLayer | undefined,
  ): Promise<StoredLayer> {
    const { descriptor, diffId, source } = request;
    if (source === undefined) throw new ImageError("NotFound", "not in the store", { digest: descriptor.digest });
    const temporary = this.#store.temporary();
    const file = growingFile(temporary);
    const packed = this.#packed(request, file);
    // Stops the worker after a failure of the transfer.
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    let opened: number | undefined;
    let unpacking: Unpacking | undefined;
    let checked: Promise<unknown> | undefined;
    try {
      opened = openSync(temporary, "wx", 0o600);
      const stream = await source.blob(descriptor, signal);
      if (unpacked === undefined) unpacking = this.#unpacker.start(packed, undefined, either);
      checked = unpacking?.record ?? runInWorker("verify", packed, { signal: either });
      await this.#receive(request, stream, opened, file, checked, signal);
      await checked;
      this.#store.commit(temporary, this.#store.blobPath(descriptor.digest));
      if (unpacking !== undefined) return this.#commit(key, request, unpacking.directory);
      this.#store.recordUnpackedDigest(descriptor.digest, diffId);
      if (unpacked === undefined) throw new TypeError("nothing was unpacked");
      return unpacked;
    } catch (error) {
      abandon(file);
      failed.abort();
      // Callers rely on the unpacking having stopped when this throws.
      await checked?.catch(() => {});
      if (unpacking !== undefined) this.#store.discard(unpacking.directory);
      throw ImageError.from(error, { digest: descriptor.digest });
    } finally {
      if (opened !== undefined) closeSync(opened);
      this.#store.remove(temporary);
    }
  }

  /** Writes a verified blob to a file, while its content is checked. */
  async #receive(
    { descriptor, onBytes }: LayerRequest,
    stream: AsyncIterable<Uint8Array>,
    opened: number,
    file: GrowingFile,
    checked: Promise<unknown>,
    signal: AbortSignal,
  ): Promise<void> {
    let rejection: unknown;
    checked.catch((error: unknown) => (rejection = error));
    let received = 0;
    let notified = 0;
    for await (const chunk of verifiedBytes(stream, descriptor)) {
      if (signal.aborted) throw new ImageError("Aborted", "aborted by the caller");
      // Damage breaks the archive before the digest is known, but a wrong digest is the better error.
      if (rejection !== undefined && descriptor.size - received > MAX_DRAIN_BYTES) throw rejection;
      for (let at = 0; at < chunk.length; ) at += writeSync(opened, chunk, at);
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
  }

  /** A layer whose writer verifies the packed bytes. */
  #packed({ descriptor, diffId }: LayerRequest, file: GrowingFile): PackedLayer {
    const { mediaType, size } = descriptor;
    const isModule = isModuleLayer(mediaType);
    return { file, limits: this.#limits, diffId, packedBytes: size, isModule, verify: undefined };
  }

  #commit(key: string, { descriptor, diffId }: LayerRequest, directory: string): StoredLayer {
    if (!this.#store.commit(directory, this.#store.layerPath(key))) this.#store.discard(directory);
    this.#store.recordUnpackedDigest(descriptor.digest, diffId);
    const layer = this.find(key);
    if (layer === undefined)
      throw new ImageError("StoreFailed", `another process removed ${this.#store.layerPath(key)}`);
    return layer;
  }
}

function isDamage({ code }: ImageError): boolean {
  return code === "DigestMismatch" || code === "SizeMismatch";
}

function layerBytes({ key, root, record }: StoredLayer): number {
  return stringBytes([key, root], record.opaque);
}
