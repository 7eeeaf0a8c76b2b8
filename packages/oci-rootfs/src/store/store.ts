import { join } from "node:path";
import { ImageError } from "../base/errors.ts";
import { fileStamp } from "../base/file-stamp.ts";
import type { OnProgress } from "../base/progress.ts";
import { throwIfAborted } from "../base/single-flight.ts";
import { type LayoutName, parseImageName, parseReference, type Reference, storeNames } from "../image/image-name.ts";
import type { ImageSource } from "../image/image-source.ts";
import { type ImageConfig, MAX_MANIFEST_BYTES } from "../image/manifest.ts";
import { hostPlatform, type Platform, printPlatform } from "../image/platform.ts";
import type { Owner } from "../layer/layer-files.ts";
import { DEFAULT_LAYER_LIMITS, type LayerLimits } from "../layer/layer-limits.ts";
import type { RegistryOptions } from "../registry/options.ts";
import { collectGarbage, listImages, type PruneOptions, type PruneResult, type StoredImage } from "./collect.ts";
import { ImageStore, type ReadyImage } from "./image-store.ts";
import { LayerStore } from "./layer-store.ts";
import { layoutSource, readLayoutEntry } from "./layout.ts";
import { Leases } from "./leases.ts";
import { type NameRecord, type NameStore, nameStore } from "./name-store.ts";
import { openStoreDirectory, type StoreDirectory } from "./store-directory.ts";

/** An image whose layers are unpacked. */
export interface Image {
  /** The full name: a reference, a name in the local store, or `oci:` with an absolute path. */
  readonly name: string;
  /** Digest of the platform's manifest. */
  readonly digest: string;
  /** Platform, layers, and the fields of `config` that a process needs, with the labels. */
  readonly config: ImageConfig;
  /** Absolute directories, bottom first. All images share them, so callers must not write to them. */
  readonly layers: readonly string[];
  /**
   * False if the store's file system does not support overlayfs's marks for deleted files. Then only `flatten` gives
   * the correct files.
   */
  readonly overlay: boolean;
}

export interface ImageOptions extends RegistryOptions {
  /** Default IfNotPresent. Always uses a locally built image without a pull, because no registry has it. */
  pullPolicy?: "IfNotPresent" | "Always" | "Never" | undefined;
  /** Default: Linux on this machine's processor. */
  platform?: Platform | undefined;
  /** The registry of names without one. Default `docker.io`. */
  defaultRegistry?: string | undefined;
  onProgress?: OnProgress | undefined;
  signal?: AbortSignal | undefined;
}

export interface StoreOptions {
  /** The store's directory, usually `$XDG_CACHE_HOME/xfn`. It is created if it is missing, for this user only. */
  dir: string;
  /** The owner of unpacked files; another user requires root. Default: the user of this process. */
  owner?: Owner | undefined;
  limits?: Partial<LayerLimits> | undefined;
}

/** A name in the store. */
export interface StoredName {
  readonly name: string;
  /** Digest of its manifest or index. */
  readonly digest: string;
  /** Built locally, not pulled. */
  readonly built: boolean;
}

/**
 * A directory of images: blobs, unpacked layers and names. Several processes can use it at once. A killed process
 * leaves nothing that another would mistake for complete.
 */
export interface Store {
  readonly dir: string;
  /**
   * Returns an image by its name: `NAME` in the local store, `[REGISTRY/]REPOSITORY[:TAG][@DIGEST]`, or
   * `oci:DIR[:TAG]`. Pulls and unpacks what is missing. A name without a registry is looked up in the local store
   * first.
   *
   * @throws ImageError
   */
  image(name: string, options?: ImageOptions): Promise<Image>;
  /** Sets a name for a manifest or index in the store. */
  tag(name: string, digest: string): void;
  list(): StoredName[];
  /** Lists all images, including those without a name, with their sizes and times of last use. */
  images(): StoredImage[];
  /**
   * Removes a name, and everything that is reachable only from it.
   *
   * @throws ImageError NotFound; InUse if a process, including this one, uses the image
   */
  remove(name: string): PruneResult;
  /** Removes images by time of last use and size, but none that a process uses. */
  prune(options?: PruneOptions): PruneResult;
  /**
   * Reports that this process no longer uses an image, so that it can be collected. Otherwise an image that `image`
   * returned is in use until the process exits.
   *
   * @param digest as in `Image`
   */
  release(digest: string): void;
}

/** The parts of a store, for the other modules of this package. */
export interface StoreInternals {
  readonly directory: StoreDirectory;
  readonly images: ImageStore;
  readonly layers: LayerStore;
  readonly names: NameStore;
  readonly leases: Leases;
}

const internals = new WeakMap<Store, StoreInternals>();

export function internalsOf(store: Store): StoreInternals {
  const found = internals.get(store);
  if (found === undefined) throw new TypeError("not a store that openStore returned");
  return found;
}

/** @throws ImageError StoreFailed */
export async function openStore(options: StoreOptions): Promise<Store> {
  const directory = openStoreDirectory(options.dir);
  const leases = new Leases(directory.dir);
  const limits = { ...DEFAULT_LAYER_LIMITS, ...options.limits };
  const layers = new LayerStore(directory, options.owner, limits);
  const suffix = options.owner === undefined ? "" : `-${options.owner.uid}-${options.owner.gid}`;
  const images = new ImageStore(directory, layers, leases, suffix, limits);
  const names = nameStore(directory);
  const inside: StoreInternals = { directory, images, layers, names, leases };
  const store: Store = {
    dir: directory.dir,
    async image(name, imageOptions = {}) {
      throwIfAborted(imageOptions.signal);
      try {
        const parsed = parseImageName(name, imageOptions);
        return await (parsed.kind === "layout"
          ? layoutImage(inside, parsed, imageOptions)
          : namedImage(inside, parsed, imageOptions));
      } catch (error) {
        throw ImageError.from(error, { image: name });
      }
    },
    tag(name, digest) {
      tagImage(inside, name, digest);
    },
    list: () => names.list().map(({ name, target, built }) => ({ name, digest: target.digest, built })),
    images: () => attempt(() => listImages(directory, names, leases)),
    remove: (name) => attempt(() => removeImage(inside, name)),
    prune: (pruning = {}) => attempt(() => collectGarbage(directory, names, leases, pruning)),
    release: (digest) => images.release(digest),
  };
  internals.set(store, inside);
  return store;
}

function attempt<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw ImageError.from(error);
  }
}

function removeImage({ directory, names, leases }: StoreInternals, text: string): PruneResult {
  const name = storeNames(parseReference(text)).find((one) => names.get(one) !== undefined);
  if (name === undefined) throw new ImageError("NotFound", "the store has no image of this name", { image: text });
  const result = collectGarbage(directory, names, leases, {}, new Set([name]));
  if (result.images.length === 0)
    throw new ImageError("InUse", "a process uses the image: stop it first", { image: name, retryable: true });
  return result;
}

/** The record of an image, by the names that the store may have it under, else by its digest. */
export function findRecord(inside: StoreInternals, reference: Reference): NameRecord | undefined {
  for (const name of storeNames(reference)) {
    const record = inside.names.get(name);
    if (record !== undefined) return record;
  }
  return byDigest(inside, reference);
}

function tagImage({ images, names }: StoreInternals, name: string, digest: string): void {
  const bytes = images.readDocument(digest, MAX_MANIFEST_BYTES);
  if (bytes === undefined) throw new ImageError("NotFound", "the store has no such manifest", { image: name, digest });
  names.put({
    name: storeNames(parseReference(name))[0],
    target: { mediaType: "", digest, size: bytes.length },
    manifests: {},
    built: true,
  });
}

async function namedImage(inside: StoreInternals, reference: Reference, options: ImageOptions): Promise<Image> {
  const { pullPolicy = "IfNotPresent", platform = hostPlatform() } = options;
  const record = findRecord(inside, reference);
  if (record?.name === reference.localName) return fromStore(inside, record, platform, options);
  if (pullPolicy !== "Always") {
    const found =
      record === undefined ? undefined : await fromStore(inside, record, platform, options).catch(unlessMissing);
    if (found !== undefined) return found;
    if (pullPolicy === "Never")
      throw new ImageError("NotFound", "not in the local store, and the pull policy is Never");
  }
  return pull(inside, reference, platform, options);
}

/** A digest identifies its content, whatever name that was stored under. */
function byDigest({ images }: StoreInternals, reference: Reference): NameRecord | undefined {
  const { digest } = reference;
  const bytes = digest === undefined ? undefined : images.readDocument(digest, MAX_MANIFEST_BYTES);
  if (digest === undefined || bytes === undefined) return undefined;
  return {
    name: reference.toString(),
    target: { mediaType: "", digest, size: bytes.length },
    manifests: {},
    built: false,
  };
}

/** If the store has lost a part of an image, it is pulled again. */
function unlessMissing(error: unknown): undefined {
  if (error instanceof ImageError && error.code === "NotFound") return undefined;
  throw error;
}

async function fromStore(
  inside: StoreInternals,
  record: NameRecord,
  platform: Platform,
  options: ImageOptions,
): Promise<Image> {
  const { images, names } = inside;
  const key = printPlatform(platform);
  const manifest = record.manifests[key];
  const known = manifest === undefined ? undefined : images.find(manifest);
  if (known !== undefined) return named(record.name, known);
  const { digest, mediaType } = record.target;
  const bytes = images.readDocument(digest, MAX_MANIFEST_BYTES);
  if (bytes === undefined) throw new ImageError("NotFound", "not in the store", { digest });
  const top = { bytes, digest, ...(mediaType !== "" && { mediaType }) };
  const { onProgress, signal } = options;
  const ready = await images.prepare(top, { name: record.name, source: undefined, platform, onProgress, signal });
  if (manifest !== ready.digest) names.put({ ...record, manifests: { ...record.manifests, [key]: ready.digest } });
  return named(record.name, ready);
}

async function pull(
  inside: StoreInternals,
  reference: Reference,
  platform: Platform,
  options: ImageOptions,
): Promise<Image> {
  const { images, names } = inside;
  // Loaded on demand, so that a call of a cached image does not load an HTTP client.
  const { RegistryClient } = await import("../registry/client.ts");
  const source: ImageSource = new RegistryClient(reference, options);
  const name = reference.toString();
  try {
    const { digest, tag = "latest" } = reference;
    const top = await source.manifest(digest === undefined ? { tag } : { digest }, options.signal);
    if (images.readDocument(top.digest, MAX_MANIFEST_BYTES) === undefined) images.storeDocument(top.digest, top.bytes);
    const { onProgress, signal } = options;
    const ready = await images.prepare(top, { name, source, platform, onProgress, signal });
    const target = { mediaType: top.mediaType ?? "", digest: top.digest, size: top.bytes.length };
    const before = names.get(name);
    const manifests = before?.target.digest === top.digest ? before.manifests : {};
    const key = printPlatform(platform);
    // An unchanged image needs no write.
    if (manifests[key] !== ready.digest)
      names.put({ name, target, manifests: { ...manifests, [key]: ready.digest }, built: false });
    return named(name, ready);
  } finally {
    // Not awaited, because concurrent callers may still transfer layers through this client.
    source.close().catch(() => {});
  }
}

/** Manifests of layouts, valid while `index.json` has the same stamp. */
const layoutEntries = new WeakMap<StoreInternals, Map<string, { stamp: string; manifest: string }>>();

async function layoutImage(inside: StoreInternals, layout: LayoutName, options: ImageOptions): Promise<Image> {
  const { images } = inside;
  const { platform = hostPlatform(), onProgress, signal } = options;
  const name = layout.toString();
  const cache = layoutEntries.get(inside) ?? new Map<string, { stamp: string; manifest: string }>();
  layoutEntries.set(inside, cache);
  const key = `${name} ${printPlatform(platform)}`;
  const stamp = fileStamp(join(layout.dir, "index.json")) ?? "";
  const cached = cache.get(key);
  const known = cached?.stamp === stamp ? images.find(cached.manifest) : undefined;
  if (known !== undefined) return named(name, known);
  const entry = readLayoutEntry(layout);
  const source = layoutSource(layout);
  const top = await source.manifest({ digest: entry.digest }, signal);
  if (top.bytes.length !== entry.size)
    throw new ImageError("SizeMismatch", `manifest of ${top.bytes.length} bytes instead of ${entry.size}`);
  if (images.readDocument(top.digest, MAX_MANIFEST_BYTES) === undefined) images.storeDocument(top.digest, top.bytes);
  const ready = await images.prepare(
    { ...top, mediaType: entry.mediaType },
    { name, source, platform, onProgress, signal },
  );
  cache.set(key, { stamp, manifest: ready.digest });
  return named(name, ready);
}

function named(name: string, { digest, config, layers, overlay }: ReadyImage): Image {
  return { name, digest, config, layers, overlay };
}
