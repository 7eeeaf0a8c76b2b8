import { constants } from "node:fs";
import { ImageError } from "../base/errors.ts";
import { readSmallFile } from "../base/small-file.ts";
import {
  type ImageConfig,
  isIndex,
  MAX_CONFIG_BYTES,
  MAX_MANIFEST_BYTES,
  type Manifest,
  parseConfig,
  parseManifestOrIndex,
} from "../image/manifest.ts";
import { toBytePath } from "../layer/entry-path.ts";
import { imageTree, resolveInTree } from "../worker/lower-view.ts";
import { type Image, internalsOf, type Store } from "./store.ts";

/** Returns the manifest of an image in the store. @throws ImageError NotFound */
export function readImageManifest(store: Store, image: Pick<Image, "digest">): Manifest {
  const { digest } = image;
  const bytes = internalsOf(store).images.readDocument(digest, MAX_MANIFEST_BYTES);
  const manifest = bytes === undefined ? undefined : parseManifestOrIndex(bytes);
  if (manifest === undefined || isIndex(manifest))
    throw new ImageError("NotFound", "the image is not in this store", { digest });
  return manifest;
}

/** Returns the whole config of an image in the store. @throws ImageError NotFound */
export function readImageConfig(store: Store, { config, layers }: Manifest): ImageConfig {
  const bytes = internalsOf(store).images.readDocument(config.digest, MAX_CONFIG_BYTES);
  if (bytes === undefined)
    throw new ImageError("NotFound", "the image's config is not in this store", { digest: config.digest });
  return parseConfig(bytes, layers.length);
}

/**
 * Reads a file of an image, with symbolic links resolved inside the image. Returns undefined if it does not exist.
 *
 * @param layers directories of an `Image`, bottom first
 * @param maxBytes a larger file is an error
 * @throws ImageError TooLarge; InvalidConfig if it is not a regular file
 */
export function readImageFile(layers: readonly string[], path: string, maxBytes: number): Buffer | undefined {
  const entry = resolveInTree(imageTree(layers, false), toBytePath(path));
  if (entry === undefined) return undefined;
  if (entry.kind !== "file") throw new ImageError("InvalidConfig", `/${path} of the image is not a regular file`);
  return readSmallFile(entry.source, maxBytes, constants.O_NOFOLLOW);
}
