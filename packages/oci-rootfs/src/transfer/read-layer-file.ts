import { ImageError } from "../base/errors.ts";
import { parseImageLocation } from "../image/image-name.ts";
import type { ImageSource } from "../image/image-source.ts";
import {
  chooseManifest,
  type Descriptor,
  isIndex,
  MAX_MANIFEST_BYTES,
  type Manifest,
  parseManifestOrIndex,
} from "../image/manifest.ts";
import { IMAGE_MANIFEST_TYPES } from "../image/media-types.ts";
import type { Platform } from "../image/platform.ts";
import { readVerified } from "../image/verified-bytes.ts";
import type { RegistryOptions } from "../registry/options.ts";
import type { Store } from "../store/store.ts";
import { openSource } from "./image-location.ts";
import { scanLayer } from "./scan-layer.ts";

export interface LayerFileOptions extends RegistryOptions {
  /** `store:NAME`, or a name without a registry; `oci:DIR[:TAG]`; or a reference with a registry. */
  from: string;
  /** For names in a store. */
  store?: Store | undefined;
  /** Selects the layer that has the file. */
  isLayer: (layer: Descriptor) => boolean;
  /** The file, relative to the root. */
  path: string;
  /** A larger file, or a selected layer that unpacks to much more, is an error. */
  maxBytes: number;
  /** Selects the image of an index for this platform, if it has one; else the first. */
  platform?: Platform | undefined;
  signal?: AbortSignal | undefined;
}

/** Bytes of headers and of other files in the selected layer. */
const MAX_OTHER_BYTES = 64 * 1024 * 1024;

/** All layers of an image, unpacked. Images of functions and providers take some hundreds of MiB. */
const MAX_IMAGE_BYTES = 4 * 1024 ** 3;

/** A file of an image, and the digest of its manifest or index. */
export interface LayerFile {
  readonly digest: string;
  /** Undefined if there is no such file. */
  readonly content: Buffer | undefined;
}

/**
 * Reads one file of an image, for images that contain data. If `isLayer` selects a layer, only that one is fetched;
 * else the layers are searched from the top, so that the file is the one that a container would see.
 *
 * @throws ImageError InvalidManifest if `isLayer` selects two layers; those of registries
 */
export async function readLayerFile(options: LayerFileOptions): Promise<LayerFile> {
  const { from, store, isLayer, platform } = options;
  const signal = options.signal ?? new AbortController().signal;
  try {
    const { source, top } = await openSource(parseImageLocation(from), store, options, signal);
    try {
      const document = parseManifestOrIndex(top.bytes, top.mediaType);
      const manifest = isIndex(document)
        ? await readChosen(source, choose(document.manifests, platform), signal)
        : document;
      const [layer, second] = manifest.layers.filter(isLayer);
      if (second !== undefined)
        throw new ImageError("InvalidManifest", "two layers match, but only one may contain the file");
      const content =
        layer === undefined
          ? await readFromTop(source, manifest.layers, options, signal)
          : await readSelected(source, layer, options, signal);
      return { digest: top.digest, content };
    } finally {
      await source.close();
    }
  } catch (error) {
    throw ImageError.from(error, { image: from });
  }
}

function choose(manifests: readonly Descriptor[], platform: Platform | undefined): Descriptor {
  const images = manifests.filter(({ mediaType }) => IMAGE_MANIFEST_TYPES.has(mediaType));
  const [first] = images;
  if (first === undefined) throw new ImageError("InvalidManifest", "the index has no image");
  if (platform === undefined) return first;
  try {
    return chooseManifest({ mediaType: "", manifests: images }, platform);
  } catch (error) {
    if (error instanceof ImageError && error.code === "WrongPlatform") return first;
    throw error;
  }
}

async function readChosen(source: ImageSource, chosen: Descriptor, signal: AbortSignal): Promise<Manifest> {
  const { bytes } = await source.manifest({ digest: chosen.digest }, signal);
  // Verified here, because not all sources verify a digest.
  const verified = await readVerified(chunks(bytes), chosen, MAX_MANIFEST_BYTES);
  const manifest = parseManifestOrIndex(verified, chosen.mediaType);
  if (isIndex(manifest)) throw new ImageError("InvalidManifest", "an index within an index is not followed");
  return manifest;
}

async function* chunks(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes;
}

async function readSelected(
  source: ImageSource,
  layer: Descriptor,
  { path, maxBytes }: LayerFileOptions,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const maxLayerBytes = maxBytes + MAX_OTHER_BYTES;
  const { digest, size } = layer;
  if (size > maxLayerBytes)
    throw new ImageError("TooLarge", `a layer of ${size} bytes, more than ${maxLayerBytes}`, { digest });
  return (await scanLayer(source, layer, { path, maxBytes, maxLayerBytes }, signal)).content;
}

async function readFromTop(
  source: ImageSource,
  layers: readonly Descriptor[],
  { path, maxBytes }: LayerFileOptions,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  let maxLayerBytes = MAX_IMAGE_BYTES;
  for (const layer of layers.toReversed()) {
    // One after the other: the lower layers are not needed once the file is found.
    const { content, hides, bytes } = await scanLayer(source, layer, { path, maxBytes, maxLayerBytes }, signal);
    if (content !== undefined || hides) return content;
    maxLayerBytes -= bytes;
  }
  return undefined;
}
