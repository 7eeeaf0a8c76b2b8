import { createReadStream, statSync } from "node:fs";
import { ImageError } from "../base/errors.ts";
import { isOfDigest } from "../image/digest.ts";
import type { ImageSource, SourceManifest } from "../image/image-source.ts";
import type { ImageTarget } from "../image/image-target.ts";
import { type Descriptor, isIndex, MAX_MANIFEST_BYTES, parseManifestOrIndex } from "../image/manifest.ts";
import { parseReference, type Reference } from "../image/image-name.ts";
import { RegistryClient } from "../registry/client.ts";
import type { RegistryOptions } from "../registry/options.ts";
import { RegistryWriter } from "../registry/writer.ts";
import { isLayoutName, layoutSource, layoutWriter, parseLayoutName, readLayoutEntry } from "../store/layout.ts";
import { internalsOf, localNameOf, type Store, type StoreInternals } from "../store/store.ts";
import { writeVerified } from "./write-verified.ts";

const READ_BYTES = 256 * 1024;

/** Where an image is, or is to be: `store:NAME`, `oci:DIR[:TAG]`, or a reference with a registry. */
export type ImagePlace =
  | { readonly kind: "store"; readonly name: string }
  | { readonly kind: "layout"; readonly name: string }
  | { readonly kind: "registry"; readonly reference: Reference };

/** Reads a place. A name without a registry is one of the store. @throws ImageError InvalidReference */
export function parsePlace(text: string): ImagePlace {
  if (isLayoutName(text)) return { kind: "layout", name: text };
  const inStore = text.startsWith("store:");
  const name = inStore ? text.slice("store:".length) : text;
  const reference = parseReference(name);
  return inStore || !reference.qualified ? { kind: "store", name } : { kind: "registry", reference };
}

/** An image that is there, by its manifest or index. */
export interface OpenedSource {
  readonly source: ImageSource;
  /** The full name. */
  readonly name: string;
  readonly top: SourceManifest;
}

/** @throws ImageError NotFound, and those of registries */
export async function openSource(
  place: ImagePlace,
  store: Store | undefined,
  options: RegistryOptions,
  signal: AbortSignal,
): Promise<OpenedSource> {
  switch (place.kind) {
    case "layout": {
      const reference = parseLayoutName(place.name);
      const source = layoutSource(reference);
      const { digest, mediaType } = readLayoutEntry(reference);
      const top = await source.manifest({ digest }, signal);
      const name = `oci:${reference.dir}${reference.tag === undefined ? "" : `:${reference.tag}`}`;
      return { source, name, top: { ...top, mediaType } };
    }
    case "store": {
      const inside = internalsOf(needed(store));
      const { name, digest, mediaType } = findInStore(inside, place.name);
      const source = storeSource(inside);
      const top = await source.manifest({ digest }, signal);
      return { source, name, top: mediaType === "" ? top : { ...top, mediaType } };
    }
    case "registry": {
      const { reference } = place;
      const source = new RegistryClient(reference, options);
      try {
        const { digest, tag = "latest" } = reference;
        const top = await source.manifest(digest === undefined ? { tag } : { digest }, signal);
        return { source, name: reference.toString(), top };
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
  /** A repository of the target's registry that may have the blob. */
  readonly mountFrom: (blob: Descriptor) => string | undefined;
}

export function openTarget(place: ImagePlace, store: Store | undefined, options: TargetOptions): ImageTarget {
  switch (place.kind) {
    case "layout":
      return layoutTarget(place.name);
    case "store":
      return storeTarget(internalsOf(needed(store)), place.name);
    case "registry":
      return registryTarget(place.reference, options);
  }
}

function needed(store: Store | undefined): Store {
  if (store === undefined) throw new TypeError("a name of the store needs the option store");
  return store;
}

function findInStore(
  { names, images }: StoreInternals,
  text: string,
): { name: string; digest: string; mediaType: string } {
  const reference = parseReference(text);
  // As `Store.image` looks them up: what was built here first.
  const candidates = reference.qualified ? [reference.toString()] : [reference.localName, reference.toString()];
  for (const name of candidates) {
    const record = names.get(name);
    if (record !== undefined) return { name, digest: record.target.digest, mediaType: record.target.mediaType };
  }
  const { digest } = reference;
  if (digest !== undefined && images.readDocument(digest, MAX_MANIFEST_BYTES) !== undefined)
    return { name: text, digest, mediaType: "" };
  throw new ImageError("NotFound", "not in the local store", { image: text });
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

function layoutTarget(text: string): ImageTarget {
  const { dir, tag } = parseLayoutName(text);
  const writer = layoutWriter(dir);
  return {
    name: `oci:${dir}${tag === undefined ? "" : `:${tag}`}`,
    // Blobs are looked for one by one: nobody promises that a layout is whole.
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
      writer.tag(descriptor, tag);
    },
    async close() {},
  };
}

function storeTarget({ directory, images, layers, names }: StoreInternals, text: string): ImageTarget {
  const name = localNameOf(text);
  const { qualified } = parseReference(text);
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
    manifest: async ({ digest }, bytes) => images.keepDocument(digest, bytes),
    async finish({ mediaType, digest, size }, bytes) {
      images.keepDocument(digest, bytes);
      // A name with a registry can be asked for there again; others are the store's own.
      names.put({ name, target: { mediaType, digest, size }, manifests: {}, built: !qualified });
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
        throw new ImageError("DigestMismatch", `what is to be pushed is ${descriptor.digest}`, { digest: wanted });
      await writer.manifest(descriptor, bytes, tag, signal);
    },
    close: () => writer.close(),
  };
}

/** Which repositories of a registry, known to the store by name, have which blobs. */
export function knownRepositories(store: Store, registry: string): ReadonlyMap<string, string> {
  const { names, images } = internalsOf(store);
  const found = new Map<string, string>();
  for (const record of names.list()) {
    // What was only built here is at no registry, whatever it is called.
    if (record.built) continue;
    try {
      const reference = parseReference(record.name);
      if (reference.registry !== registry || !reference.qualified) continue;
      for (const manifest of [record.target.digest, ...Object.values(record.manifests)]) {
        const bytes = images.readDocument(manifest, MAX_MANIFEST_BYTES);
        const document = bytes === undefined ? undefined : parseManifestOrIndex(bytes);
        if (document === undefined || isIndex(document)) continue;
        for (const { digest } of [document.config, ...document.layers]) found.set(digest, reference.repository);
      }
    } catch {
      // A record that cannot be read costs an upload, no more.
    }
  }
  return found;
}
