import { constants } from "node:fs";
import { ImageError } from "../base/errors.ts";
import { isIndex, MAX_MANIFEST_BYTES, type Manifest, parseManifestOrIndex } from "../image/manifest.ts";
import { toBytePath } from "../layer/entry-path.ts";
import { imageTree, resolveInTree } from "./lower-view.ts";
import { type Image, internalsOf, type Store } from "./store.ts";
import { readSmallFile } from "./store-directory.ts";

/** The manifest of an image that this store made ready. @throws ImageError NotFound */
export function readImageManifest(store: Store, image: Pick<Image, "digest">): Manifest {
  const { digest } = image;
  const bytes = internalsOf(store).images.readDocument(digest, MAX_MANIFEST_BYTES);
  const manifest = bytes === undefined ? undefined : parseManifestOrIndex(bytes);
  if (manifest === undefined || isIndex(manifest))
    throw new ImageError("NotFound", "the image is not in this store", { digest });
  return manifest;
}

/**
 * A file of an image, as a process in the image would find it: links lead nowhere else. Undefined where there is none.
 *
 * @param layers directories of an `Image`, bottom first
 * @param maxBytes a larger file is an error
 * @throws ImageError TooLarge; InvalidConfig for what is no regular file
 */
export function readImageFile(layers: readonly string[], path: string, maxBytes: number): Buffer | undefined {
  const entry = resolveInTree(imageTree(layers), toBytePath(path));
  if (entry === undefined) return undefined;
  if (entry.kind !== "file") throw new ImageError("InvalidConfig", `/${path} of the image is not a regular file`);
  return readSmallFile(entry.source, maxBytes, constants.O_NOFOLLOW);
}
