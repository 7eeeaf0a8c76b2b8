import { closeSync, createReadStream, mkdirSync, openSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { parseDigest } from "./digest.ts";
import { ImageError } from "./errors.ts";
import type { ImageSource } from "./image-source.ts";
import type { LayerLimits } from "./layer-limits.ts";
import { isLayerRecord, type LayerRecord } from "./layer-record.ts";
import type { LowerTree } from "./layer-tree.ts";
import type { Owner } from "./layer-writer.ts";
import type { Descriptor } from "./manifest.ts";
import { SingleFlight } from "./single-flight.ts";
import { readRecord, type StoreDirectory } from "./store-directory.ts";
import { verifiedBytes } from "./verified-bytes.ts";

/** Reading blobs from disk: large steps, as the work per chunk is on the main thread. */
const READ_BYTES = 256 * 1024;
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
          return await this.#unpack(key, request, undefined, this.#readBlob(request.descriptor, signal));
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

  /** The layer as it must look on top of these layers; its blob is in the store. */
  ensureOn(lower: LowerTree, chainId: string, request: LayerRequest): Promise<StoredLayer> {
    const key = this.key(chainId);
    return this.#flights.run(`${key} on`, request.signal, async (signal) => {
      return this.find(key) ?? (await this.#unpack(key, request, lower, this.#readBlob(request.descriptor, signal)));
    });
  }

  #readBlob(descriptor: Descriptor, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const path = this.#store.blobPath(descriptor.digest);
    return createReadStream(path, { highWaterMark: READ_BYTES, signal });
  }

  async #fetch(
    key: string,
    request: LayerRequest,
    signal: AbortSignal,
    unpacked: StoredLayer | undefined,
  ): Promise<StoredLayer> {
    const { descriptor, source, onBytes } = request;
    if (source === undefined) throw new ImageError("NotFound", "not in the store", { digest: descriptor.digest });
    const temporary = this.#store.temporary();
    const file = openSync(temporary, "wx", 0o600);
    let committed = false;
    try {
      const stream = await source.blob(descriptor, signal);
      const tee = async function* (): AsyncGenerator<Uint8Array, void> {
        let bytes = 0;
        for await (const chunk of stream) {
          if (signal.aborted) throw new ImageError("Aborted", "aborted by the caller");
          bytes += chunk.length;
          if (bytes <= descriptor.size) for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at);
          onBytes?.(bytes);
          yield chunk;
        }
      };
      const commitBlob = (): void => {
        committed = true;
        this.#store.commit(temporary, this.#store.blobPath(descriptor.digest));
      };
      if (unpacked === undefined) return await this.#unpack(key, request, undefined, tee(), commitBlob);
      for await (const chunk of verifiedBytes(tee(), descriptor)) void chunk;
      commitBlob();
      return unpacked;
    } finally {
      closeSync(file);
      if (!committed) this.#store.remove(temporary);
    }
  }

  async #unpack(
    key: string,
    request: LayerRequest,
    lower: LowerTree | undefined,
    bytes: AsyncIterable<Uint8Array>,
    beforeCommit: () => void = () => {},
  ): Promise<StoredLayer> {
    const { descriptor, diffId } = request;
    // Loaded when it is needed: a call of a cached image does not pay for parsers.
    const { unpackLayer } = await import("./unpack-layer.ts");
    const temporary = this.#store.temporary();
    // Searchable for the owner of the files; the store itself is closed to others.
    mkdirSync(temporary, { mode: 0o755 });
    let received = 0;
    const counted = async function* (): AsyncGenerator<Uint8Array, void> {
      for await (const chunk of bytes) {
        received += chunk.length;
        yield chunk;
      }
    };
    let failure: unknown;
    const verified = noting(verifiedBytes(counted(), descriptor), (error) => (failure = error));
    try {
      const root = join(temporary, "fs");
      const record = await unpackLayer({
        root,
        limits: this.#limits,
        owner: this.#owner,
        lower,
        source: withoutReturn(verified),
        diffId,
        packedBytes: descriptor.size,
      }).catch(async (error: unknown) => {
        const left = descriptor.size - received;
        if (error instanceof ImageError && error.code === "UnsafeLayer" && left <= MAX_DRAIN_BYTES)
          await drain(verified);
        throw error;
      });
      // The decompressor may have had enough before the blob ended.
      await drain(verified);
      writeFileSync(join(temporary, "layer.json"), JSON.stringify(record), { mode: 0o600 });
      beforeCommit();
      this.#store.commit(temporary, this.#store.layerPath(key));
    } catch (error) {
      this.#store.remove(temporary);
      // A flipped bit mostly breaks the archive first; that the digest is wrong is the better answer.
      throw ImageError.from(failure ?? error, { digest: descriptor.digest });
    } finally {
      await verified.return();
    }
    const layer = this.find(key);
    if (layer === undefined) throw new ImageError("StoreFailed", `${this.#store.layerPath(key)} vanished`);
    return layer;
  }
}

/** Tells of an error also when the one who reads has stopped listening. */
async function* noting<T>(source: AsyncIterable<T>, note: (error: unknown) => void): AsyncGenerator<T, void> {
  try {
    yield* source;
  } catch (error) {
    note(error);
    throw error;
  }
}

/** Lets a consumer stop without ending the generator. */
function withoutReturn(source: AsyncGenerator<Uint8Array, void>): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => ({ next: () => source.next() }) };
}

async function drain(source: AsyncGenerator<Uint8Array, void>): Promise<void> {
  for (let next = await source.next(); !next.done; ) next = await source.next();
}
