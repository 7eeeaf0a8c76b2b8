import { fitsOn } from "../layer/layer-record.ts";
import { readLayerPaths } from "../worker/layer-record-files.ts";
import { lowerView } from "../worker/lower-view.ts";
import { runInWorker } from "../worker/run-in-worker.ts";
import type { StoredLayer } from "./layer-store.ts";

/** Lookups of paths for one image on this thread, of a few microseconds each. */
const MAX_LOOKUPS = 10_000;
/** Bytes of paths that this thread parses for one image. */
const MAX_PATH_BYTES = 256 * 1024;

/** Decides whether the layers of one image, each unpacked alone, are correct on top of each other. */
export class LayerFit {
  readonly #signal: AbortSignal | undefined;
  #lookups = 0;
  #bytes = 0;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** @param lower the layers below, bottom first */
  async isCorrectOn({ root, record }: StoredLayer, lower: readonly StoredLayer[]): Promise<boolean> {
    if (record.lowerLinks) return false;
    if (record.assumed.paths === 0) return true;
    this.#lookups += record.assumed.paths * (lower.length + 1);
    // Each component of a path is looked up in each layer.
    this.#bytes += record.assumed.bytes * (lower.length + 1);
    if (this.#lookups > MAX_LOOKUPS || this.#bytes > MAX_PATH_BYTES)
      return await runInWorker("fits", { root, lower: lower.map((layer) => layer.root) }, { signal: this.#signal });
    const view = lowerView(
      lower.map((layer) => ({ root: layer.root, opaque: new Set(layer.record.opaque) })),
      false,
    );
    return fitsOn(readLayerPaths(root), view);
  }
}
