import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ImageError } from "../base/errors.ts";
import type { Owner } from "../layer/layer-files.ts";
import type { LayerRecord } from "../layer/layer-record.ts";
import { runInWorker } from "../worker/run-in-worker.ts";
import type { PackedLayer, Position, SmallLayer, UnpackJob } from "../worker/unpack-job.ts";
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

/** Unpacks layers into temporary directories: small ones on this thread, others on a worker. */
export class LayerUnpacker {
  readonly #store: StoreDirectory;
  readonly #owner: Owner | undefined;

  constructor(store: StoreDirectory, owner: Owner | undefined) {
    this.#store = store;
    this.#owner = owner;
  }

  /** @param position the position of a layer that is unpacked for one image */
  start(layer: PackedLayer, position: Position | undefined, signal: AbortSignal): Unpacking {
    const directory = this.#store.temporary();
    try {
      // Searchable for the owner of the files. Only this user can search the store itself.
      mkdirSync(directory, { mode: 0o755 });
    } catch (error) {
      this.#store.remove(directory);
      throw error;
    }
    const job = { ...layer, root: join(directory, "fs"), owner: this.#owner, position };
    return { directory, record: this.#run(job, signal) };
  }

  async #run(job: UnpackJob, signal: AbortSignal): Promise<LayerRecord> {
    // A layer that depends on others can look up each of its paths in each of them.
    if (job.packedBytes < MIN_WORKER_BYTES && job.position === undefined) {
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
