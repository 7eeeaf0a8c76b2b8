import { createReadStream, statSync } from "node:fs";
import { ImageError } from "../base/errors.ts";
import { isOfDigest } from "../image/digest.ts";
import {
  type ImageLocation,
  type LayoutName,
  type Reference,
  type StoreName,
  storeNames,
  tryParseImageName,
} from "../image/image-name.ts";
import type { ImageSource, SourceManifest } from "../image/image-source.ts";
import type { ImageTarget } from "../image/image-target.ts";
import { type Descriptor, isIndex, MAX_MANIFEST_BYTES, parseManifestOrIndex } from "../image/manifest.ts";
import { RegistryClient } from "../registry/client.ts";
import type { RegistryOptions } from "../registry/options.ts";
import { RegistryWriter } from "../registry/writer.ts";
import { layoutSource, layoutWriter, readLayoutEntry } from "../store/layout.ts";
import { findRecord, internalsOf, type Store, type StoreInternals } from "../store/store.ts";
import { writeVerified } from "./write-verified.ts";

const READ_BYTES = 256 * 1024;

/** An image that exists, with its manifest or index. */
export interface OpenedSource {
  readonly source: ImageSource;
  /** The full name. */
  readonly name: string;
  readonly top: SourceManifest;
}

/** @throws ImageError NotFound, and those of registries */
export async function openSource(
  location: ImageLocation,
  store: Store | undefined,
  options: RegistryOptions,
  signal: AbortSignal,
): Promise<OpenedSource> {
  switch (location.kind) {
    case "layout": {
      const source = layoutSource(location);
      const { digest, mediaType } = readLayoutEntry(location);
      const top = await source.manifest({ digest }, signal);
      return { source, name: location.toString(), top: { ...top, mediaType } };
    }
    case "store": {
      const inside = internalsOf(required(store));
      const record = findRecord(inside, location.reference);
      if (record === undefined) throw new ImageError("NotFound", "not in the local store", { image: location.name });
      const { digest, mediaType } = record.target;
      const source = storeSource(inside);
      const top = await source.manifest({ digest }, signal);
      return { source, name: record.name, top: mediaType === "" ? top : { ...top, mediaType } };
    }
    case "registry": {
      const source = new RegistryClient(location, options);
      try {
        const { digest, tag = "latest" } = location;
        const top = await source.manifest(digest === undefined ? { tag } : { digest }, signal);
        return { source, name: location.toString(), top };
      } catch (error) {
        await source.close();
        throw error;
      }
    }
  }
}

export interface TargetOptions {
  readonly registry: RegistryOptions;
  readonly chunkBytes: number | undefined;
  /** Returns a repository of the target's registry that may have the blob. */
  readonly mountFrom: (blob: Descriptor) => string | undefined;
}

export function openTarget(location: ImageLocation, store: Store | undefined, options: TargetOptions): ImageTarget {
  switch (location.kind) {
    case "layout":
      return layoutTarget(location);
    case "store":
      return storeTarget(internalsOf(required(store)), location);
    case "registry":
      return registryTarget(location, options);
  }
}

function required(store: Store | undefined): Store {
  if (store === undefined) throw new TypeError("a name in the store requires the option store");
  return store;
}

function storeSource({ images, directory }: StoreInternals): ImageSource {
  return {
    async manifest(selector) {
      if (!("digest" in selector)) throw new TypeError("a store has no tags");
      const bytes = images.readDocument(selector.digest, MAX_MANIFEST_BYTES);
      if (bytes === undefined) throw lost(selector.digest);
      return { bytes, digest: selector.digest };
    },
    async blob({ digest, size }) {
      const path = directory.blobPath(digest);
      if (statSync(path, { throwIfNoEntry: false })?.size !== size) throw lost(digest);
      return createReadStream(path, { highWaterMark: READ_BYTES });
    },
    async close() {},
  };
}

function lost(digest: string): ImageError {
  return new ImageError("NotFound", "not in the local store: pull or build the image again", { digest });
}

function layoutTarget(layout: LayoutName): ImageTarget {
  const writer = layoutWriter(layout.dir);
  return {
    name: layout.toString(),
    // Each blob is checked, because a layout may be incomplete.
    hasManifest: async () => false,
    async blob({ descriptor, open, onBytes, signal }) {
      if (writer.has(descriptor.digest, descriptor.size)) return "present";
      const temporary = writer.temporary();
      try {
        await writeVerified(temporary, await open(signal), descriptor, onBytes, signal);
        writer.commit(temporary, descriptor.digest);
      } catch (error) {
        writer.discard(temporary);
        throw error;
      }
      return "written";
    },
    manifest: async ({ digest }, bytes) => writer.write(digest, bytes),
    async finish(descriptor, bytes) {
      writer.write(descriptor.digest, bytes);
      writer.tag(descriptor, layout.tag);
    },
    async close() {},
  };
}

function storeTarget({ directory, images, layers, names }: StoreInternals, { reference }: StoreName): ImageTarget {
  const [name] = storeNames(reference);
  return {
    name,
    hasManifest: async () => false,
    async blob({ descriptor, open, onBytes, signal }) {
      if (layers.hasBlob(descriptor)) return "present";
      const temporary = directory.temporary();
      try {
        await writeVerified(temporary, await open(signal), descriptor, onBytes, signal);
        directory.commit(temporary, directory.blobPath(descriptor.digest));
      } catch (error) {
        directory.remove(temporary);
        throw error;
      }
      return "written";
    },
    manifest: async ({ digest }, bytes) => images.storeDocument(digest, bytes),
    async finish({ mediaType, digest, size }, bytes) {
      images.storeDocument(digest, bytes);
      // A name with a registry can be pulled again. Others exist only in the store.
      names.put({ name, target: { mediaType, digest, size }, manifests: {}, built: !reference.qualified });
    },
    async close() {},
  };
}

function registryTarget(reference: Reference, { registry, chunkBytes, mountFrom }: TargetOptions): ImageTarget {
  const writer = new RegistryWriter(reference, registry);
  const { tag, digest: wanted } = reference;
  return {
    name: reference.toString(),
    hasManifest: ({ digest, mediaType }, signal) => writer.hasManifest(digest, mediaType, signal),
    async blob({ descriptor, open, onBytes, signal }) {
      const upload = { descriptor, open, onBytes, signal, chunkBytes, mountFrom: mountFrom(descriptor) };
      const outcome = await writer.blob(upload);
      return outcome === "sent" ? "written" : outcome;
    },
    manifest: (descriptor, bytes, signal) => writer.manifest(descriptor, bytes, undefined, signal),
    async finish(descriptor, bytes, signal) {
      if (wanted !== undefined && !isOfDigest(bytes, wanted))
        throw new ImageError("DigestMismatch", `the image to push is ${descriptor.digest}`, { digest: wanted });
      await writer.manifest(descriptor, bytes, tag, signal);
    },
    close: () => writer.close(),
  };
}

/** Maps blobs to repositories of a registry that have them, according to the names in the store. */
export function knownRepositories(store: Store, registry: string): ReadonlyMap<string, string> {
  const { names, images } = internalsOf(store);
  const found = new Map<string, string>();
  for (const record of names.list()) {
    // A locally built image is not at its registry yet.
    if (record.built) continue;
    try {
      const reference = tryParseImageName(record.name);
      if (reference?.kind !== "registry" || reference.registry !== registry || !reference.qualified) continue;
      for (const manifest of [record.target.digest, ...Object.values(record.manifests)]) {
        const bytes = images.readDocument(manifest, MAX_MANIFEST_BYTES);
        const document = bytes === undefined ? undefined : parseManifestOrIndex(bytes);
        if (document === undefined || isIndex(document)) continue;
        for (const { digest } of [document.config, ...document.layers]) found.set(digest, reference.repository);
      }
    } catch {
      // An unreadable record costs only an upload.
    }
  }
  return found;
}
