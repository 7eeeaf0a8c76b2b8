import { ImageError } from "../base/errors.ts";
import { isObject } from "../base/json.ts";
import { type ImageConfig, type Manifest, parseObject } from "./manifest.ts";
import { WASM_LAYER_TYPES } from "./media-types.ts";

/** The file of the module in the directory of its unpacked layer. */
export const MODULE_FILE = "module.wasm";

/**
 * Whether a manifest is that of one WebAssembly module. Its layer is the module, not an archive.
 * https://tag-runtime.cncf.io/wgs/wasm/deliverables/wasm-oci-artifact/ is the CNCF's layout.
 */
export function isModule({ layers }: Pick<Manifest, "layers">): boolean {
  const [layer] = layers;
  return layers.length === 1 && layer !== undefined && isModuleLayer(layer.mediaType);
}

/** Whether a layer is a module. */
export function isModuleLayer(mediaType: string): boolean {
  return WASM_LAYER_TYPES.has(mediaType);
}

/** The systems of modules for WASI preview 1. Older tools write `wasi`. */
const SYSTEMS: ReadonlySet<unknown> = new Set([undefined, "", "wasip1", "wasi"]);

/**
 * The config of an image of one module: that of an image with one layer, which has the module as its entrypoint.
 *
 * @param bytes the config of the CNCF's layout, or what else the author's tool wrote
 * @throws ImageError InvalidManifest, Unsupported
 */
export function moduleConfig(bytes: Uint8Array, { layers }: Pick<Manifest, "layers">): ImageConfig {
  const { os, component } = bytes.length === 0 ? {} : parseObject(bytes, "image config");
  if (isObject(component) || !SYSTEMS.has(os))
    throw new ImageError("Unsupported", "its module is not for WASI preview 1: build it for wasip1");
  return {
    os: "wasip1",
    architecture: "wasm",
    config: { Entrypoint: [`/${MODULE_FILE}`] },
    rootfs: { type: "layers", diff_ids: layers.map(({ digest }) => digest) },
  };
}
