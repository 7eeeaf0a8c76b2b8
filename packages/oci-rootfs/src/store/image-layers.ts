import { onAbort } from "@xfn/lifetime";
import { ImageError } from "../base/errors.ts";
import { type OnProgress, PROGRESS_STEP_BYTES } from "../base/progress.ts";
import { abortError, throwIfAborted } from "../base/single-flight.ts";
import { chainIds } from "../image/chain-ids.ts";
import type { ImageSource } from "../image/image-source.ts";
import type { Descriptor, Manifest } from "../image/manifest.ts";
import type { Platform } from "../image/platform.ts";
import { unsafe } from "../layer/entry-path.ts";
import type { LayerLimits } from "../layer/layer-limits.ts";
import { layerFit } from "./layer-fit.ts";
import type { LayerStore, StoredLayer } from "./layer-store.ts";

export interface FetchOptions {
  /** The caller's name for it, for messages and progress. */
  readonly name: string;
  /** If it is absent, everything must be in the store. */
  readonly source: ImageSource | undefined;
  readonly platform: Platform;
  readonly onProgress?: OnProgress | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Concurrent layers of one image. More would share the same bandwidth and the same few threads. */
const MAX_PARALLEL_LAYERS = 4;

/** Prepares the layers of images. */
export class ImageLayers {
  readonly #layers: LayerStore;
  readonly #limits: LayerLimits;

  constructor(layers: LayerStore, limits: LayerLimits) {
    this.#layers = layers;
    this.#limits = limits;
  }

  /** Pulls and unpacks what is missing of the layers, each alone. @throws ImageError */
  async fetch(manifest: Manifest, diffIds: readonly string[], options: FetchOptions): Promise<StoredLayer[]> {
    const { name, source, onProgress } = options;
    const count = manifest.layers.length;
    const results: StoredLayer[] = [];
    // The first failing layer stops the others.
    const stop = new AbortController();
    const forget = onAbort(options.signal, () => stop.abort(options.signal?.reason));
    let next = 0;
    let failure: unknown;
    const worker = async (): Promise<void> => {
      while (next < count && failure === undefined) {
        const layer = next++;
        const descriptor = manifest.layers[layer] as Descriptor;
        const { digest, size: totalBytes } = descriptor;
        const report = (state: "waiting" | "pulling" | "done" | "present", bytes: number): void =>
          onProgress?.({
            image: name,
            digest,
            layer,
            layers: count,
            bytes,
            totalBytes,
            state,
            ...(source === undefined && { local: true }),
          });
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
      forget();
    }
    if (options.signal?.aborted) throw abortError(options.signal);
    if (failure !== undefined) throw failure;
    return results;
  }

  /** Checks the limits of all layers together. */
  #checkTotals(layers: readonly (StoredLayer | undefined)[]): void {
    let nodes = 0;
    let pathBytes = 0;
    let bytes = 0;
    for (const layer of layers) {
      if (layer === undefined) continue;
      nodes += Math.max(layer.record.entries, layer.record.nodes);
      pathBytes += layer.record.pathBytes;
      bytes += layer.record.bytes;
    }
    const { maxImageEntries, maxImagePathBytes, maxImageBytes } = this.#limits;
    if (nodes > maxImageEntries) throw unsafe(`the image has more than ${maxImageEntries} entries`);
    if (pathBytes > maxImagePathBytes)
      throw unsafe(`the paths of the image have more than ${maxImagePathBytes} bytes together`);
    if (bytes > maxImageBytes) throw unsafe(`the image unpacks to more than ${maxImageBytes} bytes`);
  }

  /** Stacks the layers. Unpacks a layer again if it is not correct on top of those below it. */
  async stack(
    layers: readonly StoredLayer[],
    manifest: Manifest,
    diffIds: readonly string[],
    options: FetchOptions,
  ): Promise<StoredLayer[]> {
    let stacked: StoredLayer[] = [];
    const chains = chainIds(diffIds);
    const { source, signal } = options;
    const isCorrectOn = layerFit(signal);
    for (const [i, layer] of layers.entries()) {
      const [descriptor, diffId] = [manifest.layers[i] as Descriptor, diffIds[i] as string];
      throwIfAborted(signal);
      if (layer.record.opaque.includes("")) stacked = [];
      try {
        const position = { lower: stacked.map(({ root }) => root), alone: layer.root };
        const fitting = (await isCorrectOn(layer, stacked))
          ? layer
          : await this.#layers.ensureOn(position, chains[i] as string, { descriptor, diffId, source, signal });
        // A link of a lower layer can make the mark of another directory one of the root.
        if (fitting.record.opaque.includes("")) stacked = [];
        // overlayfs rejects a directory that occurs twice. The upper occurrence decides about everything in it.
        stacked = [...stacked.filter(({ key }) => key !== fitting.key), fitting];
      } catch (error) {
        throw ImageError.from(error, { layer: i });
      }
    }
    return stacked;
  }
}
