import { constants, copyFileSync } from "node:fs";
import { ImageError } from "../base/errors.ts";
import { digestOf } from "../image/digest.ts";
import { isLayoutName, parseLayoutName, parseReference, storeNames } from "../image/image-name.ts";
import type { Descriptor } from "../image/manifest.ts";
import { layoutWriter } from "../store/layout.ts";
import { internalsOf, type Store } from "../store/store.ts";

/** The destination of a built image. */
export interface BuildTarget {
  has(digest: string): boolean;
  /** Returns a path for a blob that is being written. */
  temporary(): string;
  commit(temporary: string, digest: string): void;
  write(digest: string, bytes: Uint8Array): void;
  discard(temporary: string): void;
  /** Sets the name. @returns the full name of the image */
  finish(top: Descriptor): string;
}

/** An OCI layout for `oci:DIR[:TAG]`, else the store. */
export function buildTarget(store: Store, name: string): BuildTarget {
  return isLayoutName(name) ? layoutTarget(name) : storeTarget(store, name);
}

/** Writes a manifest, an index, a config or a module. */
export function writeContent(target: BuildTarget, mediaType: string, content: Uint8Array | object): Descriptor {
  const bytes = content instanceof Uint8Array ? content : Buffer.from(JSON.stringify(content));
  const digest = digestOf(bytes);
  target.write(digest, bytes);
  return { mediaType, digest, size: bytes.length };
}

/** Copies a layer of the base to the target. @throws ImageError NotFound if it is no longer in the store */
export function copyBlob(store: Store, target: BuildTarget, blob: Descriptor): void {
  if (target.has(blob.digest)) return;
  const { layers, directory } = internalsOf(store);
  if (!layers.hasBlob(blob))
    throw new ImageError("NotFound", "a layer of the base is no longer in the store: pull it again", {
      digest: blob.digest,
    });
  const temporary = target.temporary();
  copyFileSync(directory.blobPath(blob.digest), temporary, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  target.commit(temporary, blob.digest);
}

function layoutTarget(name: string): BuildTarget {
  const layout = parseLayoutName(name);
  const writer = layoutWriter(layout.dir);
  return {
    ...writer,
    finish(top) {
      writer.tag(top, layout.tag);
      return layout.toString();
    },
  };
}

function storeTarget(store: Store, name: string): BuildTarget {
  const { directory, images, names } = internalsOf(store);
  const [storedName] = storeNames(parseReference(name));
  return {
    // Called only for layers of the base, which are in the store.
    has: () => true,
    temporary: () => directory.temporary(),
    commit: (temporary, digest) => void directory.commit(temporary, directory.blobPath(digest)),
    write: (digest, bytes) => images.storeDocument(digest, bytes),
    discard: (temporary) => directory.remove(temporary),
    finish({ mediaType, digest, size }) {
      names.put({ name: storedName, target: { mediaType, digest, size }, manifests: {}, built: true });
      return storedName;
    },
  };
}
