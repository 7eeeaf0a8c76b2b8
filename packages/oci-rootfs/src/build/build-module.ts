import { ImageError } from "../base/errors.ts";
import { OCI_MANIFEST, WASM_CONFIG, WASM_LAYER } from "../image/media-types.ts";
import { annotationsField } from "./build-config.ts";
import type { BuildOptions, BuiltImage } from "./build-image.ts";
import { buildTarget, writeContent } from "./build-target.ts";

/** Options of {@link buildModule}. */
export interface BuildModuleOptions extends Pick<BuildOptions, "store" | "name" | "annotations"> {
  /** A WebAssembly module for WASI preview 1. Not checked. */
  readonly module: Uint8Array;
}

/**
 * Builds the image of one WebAssembly module, in the CNCF's layout: its only layer is the module.
 * https://tag-runtime.cncf.io/wgs/wasm/deliverables/wasm-oci-artifact/
 *
 * @throws ImageError BuildFailed
 */
export function buildModule({ store, name, module, annotations }: BuildModuleOptions): BuiltImage {
  try {
    const target = buildTarget(store, name);
    const layer = writeContent(target, WASM_LAYER, module);
    // Without a time, so that the same module gives the same digest.
    const config = writeContent(target, WASM_CONFIG, {
      architecture: "wasm",
      os: "wasip1",
      layerDigests: [layer.digest],
    });
    const manifest = {
      schemaVersion: 2,
      mediaType: OCI_MANIFEST,
      config,
      layers: [layer],
      ...annotationsField(annotations),
    };
    const top = writeContent(target, OCI_MANIFEST, manifest);
    return { name: target.finish(top), digest: top.digest, layers: [layer] };
  } catch (error) {
    throw ImageError.from(error, { image: name });
  }
}
