import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ImageError } from "../base/errors.ts";
import type { Expected } from "../image/verified-bytes.ts";
import type { Owner } from "../layer/layer-files.ts";
import type { LayerLimits } from "../layer/layer-limits.ts";
import type { LayerRecord } from "../layer/layer-record.ts";
import type { GrowingFile } from "../worker/growing-file.ts";
import { runInWorker } from "../worker/run-in-worker.ts";
import type { PackedLayer, SmallLayer, UnpackJob } from "../worker/unpack-job.ts";
import type { StoreDirectory } from "./store-directory.ts";

/** A smaller layer is unpacked on this thread, before a worker would have started, if it is within `SMALL`. */
const MIN_WORKER_BYTES = 2 * 1024 * 1024;

/** A layer that this thread unpacks within about 50 ms. A few bytes can imply thousands of directories. */
const SMALL: SmallLayer = { maxNodes: 1000, maxBytes: 16 * 1024 * 1024 };

/** A layer that is being unpacked, into a temporary directory. */
export interface Unpacking {
  readonly directory: string;
  readonly record: Promise<LayerRecord>;
}

export interface UnpackRequest {
  readonly file: GrowingFile;
  readonly diffId: string;
  readonly packedBytes: number;
  /** Whether it is a WebAssembly module instead of an archive. */
  readonly isModule?: boolean;
  /** Digest and size of the packed bytes; undefined if the writer of the file verifies them. */
  readonly verify: Expected | undefined;
  /** The layers below, for a layer that is unpacked for its position in one image. */
  readonly position?: Position | undefined;
}

export interface Position {
  /** Directories, bottom first. */
  readonly lower: readonly string[];
  /** The directory of the layer that was unpacked alone. */
  readonly alone: string;
}

/** Unpacks layers into temporary directories: small ones on this thread, others on a worker. */
export class LayerUnpacker {
  readonly #store: StoreDirectory;
  readonly #owner: Owner | undefined;
  readonly #limits: LayerLimits;

  constructor(store: StoreDirectory, owner: Owner | undefined, limits: LayerLimits) {
    this.#store = store;
    this.#owner = owner;
    this.#limits = limits;
  }

  start(request: UnpackRequest, signal: AbortSignal): Unpacking {
    const directory = this.#store.temporary();
    try {
      // Searchable for the owner of the files. Only this user can search the store itself.
      mkdirSync(directory, { mode: 0o755 });
    } catch (error) {
      this.#store.remove(directory);
      throw error;
    }
    const { position } = request;
    const root = join(directory, "fs");
    const { lower, alone } = position ?? { lower: undefined, alone: undefined };
    const job: UnpackJob = { ...this.#packed(request), root, owner: this.#owner, lower, alone };
    return { directory, record: this.#run(job, signal) };
  }

  /** Verifies that a packed layer has the unpacked digest. @throws ImageError DigestMismatch */
  async verify(request: UnpackRequest, signal: AbortSignal): Promise<void> {
    await runInWorker("verify", this.#packed(request), { signal });
  }

  #packed({ file, diffId, packedBytes, isModule = false, verify }: UnpackRequest): PackedLayer {
    const expected = verify && { digest: verify.digest, size: verify.size };
    return { file, limits: this.#limits, diffId, packedBytes, isModule, verify: expected };
  }

  async #run(job: UnpackJob, signal: AbortSignal): Promise<LayerRecord> {
    // A layer that depends on others can look up each of its paths in each of them.
    if (job.packedBytes < MIN_WORKER_BYTES && job.lower === undefined) {
      // Loaded on demand, so that a call of a cached image does not load parsers.
      const { unpackHere } = await import("../worker/unpack-job.ts");
      const record = await unpackHere(job, SMALL);
      if (record !== undefined) return record;
      // The worker starts with an empty directory.
      this.#store.discard(job.root);
    }
    const record = await runInWorker("unpack", job, { signal });
    if (record === undefined) throw new ImageError("StoreFailed", "the layer was not unpacked");
    return record;
  }
}
