import { fitsOn } from "../layer/layer-record.ts";
import { readLayerPaths } from "../worker/layer-record-files.ts";
import { lowerView } from "../worker/lower-view.ts";
import { runInWorker } from "../worker/run-in-worker.ts";
import type { StoredLayer } from "./layer-store.ts";

/** Lookups of paths for one image on this thread, of a few microseconds each. */
const MAX_LOOKUPS = 10_000;
/** Bytes of paths that this thread parses for one image. */
const MAX_PATH_BYTES = 256 * 1024;

/** @param lower the layers below, bottom first */
type IsCorrectOn = (layer: StoredLayer, lower: readonly StoredLayer[]) => Promise<boolean>;

/** Decides whether the layers of one image, each unpacked alone, are correct on top of each other. */
export function layerFit(signal: AbortSignal | undefined): IsCorrectOn {
  let lookups = 0;
  let bytes = 0;
  return async ({ root, record }, lower) => {
    if (record.lowerLinks) return false;
    if (record.assumed.paths === 0) return true;
    lookups += record.assumed.paths * (lower.length + 1);
    // Each component of a path is looked up in each layer.
    bytes += record.assumed.bytes * (lower.length + 1);
    if (lookups > MAX_LOOKUPS || bytes > MAX_PATH_BYTES)
      return await runInWorker("fits", { root, lower: lower.map((layer) => layer.root) }, { signal });
    const view = lowerView(
      lower.map((layer) => ({ root: layer.root, opaque: new Set(layer.record.opaque) })),
      false,
    );
    return fitsOn(readLayerPaths(root), view);
  };
}
