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
import { readVerified, verifiedBytes } from "../image/verified-bytes.ts";
import { decompressed } from "../layer/decompress.ts";
import { TarReader } from "../layer/tar-reader.ts";
import type { RegistryOptions } from "../registry/options.ts";
import type { Store } from "../store/store.ts";
import { openSource } from "./image-location.ts";

export interface LayerFileOptions extends RegistryOptions {
  /** `store:NAME`, or a name without a registry; `oci:DIR[:TAG]`; or a reference with a registry. */
  from: string;
  /** For names in a store. */
  store?: Store | undefined;
  /** Selects the layer that has the file. */
  isLayer: (layer: Descriptor) => boolean;
  /** The file, relative to the root. */
  path: string;
  /** A larger file, or a layer that unpacks to much more, is an error. */
  maxBytes: number;
  /** Selects the image of an index for this platform, if it has one; else the first. */
  platform?: Platform | undefined;
  signal?: AbortSignal | undefined;
}

/** Bytes of headers and of other files in the layer. */
const MAX_OTHER_BYTES = 64 * 1024 * 1024;

/**
 * Reads one file of one layer of an image without fetching the other layers, for images that contain data. Returns
 * undefined if `isLayer` selects no layer.
 *
 * @throws ImageError NotFound if the layer lacks the file; InvalidManifest if `isLayer` selects two layers; those of
 *   registries
 */
export async function readLayerFile(options: LayerFileOptions): Promise<Buffer | undefined> {
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
      return layer === undefined ? undefined : await readFromLayer(source, layer, options, signal);
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

async function readFromLayer(
  source: ImageSource,
  layer: Descriptor,
  { path, maxBytes }: LayerFileOptions,
  signal: AbortSignal,
): Promise<Buffer> {
  const { digest } = layer;
  const limit = maxBytes + MAX_OTHER_BYTES;
  if (layer.size > limit)
    throw new ImageError("TooLarge", `a layer of ${layer.size} bytes, more than ${limit}`, { digest });
  let found: Uint8Array[] | undefined;
  let isReading = false;
  const reader = new TarReader({
    add(entry) {
      isReading = normal(entry.path) === normal(path);
      if (!isReading) return;
      if (entry.kind !== "file") throw new ImageError("InvalidConfig", `${path} is not a regular file`);
      if (entry.size > maxBytes)
        throw new ImageError("TooLarge", `${path} is ${entry.size} bytes, more than ${maxBytes}`);
      found = [];
    },
    write(chunk) {
      // The parser reuses its buffer.
      if (isReading) found?.push(Buffer.from(chunk));
    },
    closeFile: () => undefined,
  });
  let unpacked = 0;
  for await (const chunk of decompressed(verifiedBytes(await source.blob(layer, signal), layer))) {
    unpacked += chunk.length;
    if (unpacked > limit) throw new ImageError("TooLarge", `the layer unpacks to more than ${limit} bytes`, { digest });
    reader.write(chunk);
  }
  reader.end();
  if (found === undefined) throw new ImageError("NotFound", `the layer has no ${path}`, { digest });
  return Buffer.concat(found);
}

function normal(path: string): string {
  return path
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/");
}
