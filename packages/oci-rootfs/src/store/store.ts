import { ImageError } from "../base/errors.ts";
import type { OnProgress } from "../base/progress.ts";
import { parseReference, type Reference, storeNames } from "../image/image-name.ts";
import { type ImageConfig, MAX_MANIFEST_BYTES } from "../image/manifest.ts";
import type { Platform } from "../image/platform.ts";
import type { Owner } from "../layer/layer-files.ts";
import { DEFAULT_LAYER_LIMITS, type LayerLimits } from "../layer/layer-limits.ts";
import type { RegistryOptions } from "../registry/options.ts";
import { runInWorker } from "../worker/run-in-worker.ts";
import { collectGarbage, listImages, type PruneOptions, type PruneResult, type StoredImage } from "./collect.ts";
import { ImageStore, type ReadyImage } from "./image-store.ts";
import { LayerStore } from "./layer-store.ts";
import { Leases } from "./leases.ts";
import { BLOCK_BYTES } from "./mark.ts";
import { type NameRecord, type NameStore, nameStore } from "./name-store.ts";
import { Quota } from "./quota.ts";
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
  /**
   * False if no layer contains a FIFO. A FIFO of a root filesystem that several processes share is one pipe for all of
   * them.
   */
  readonly fifos: boolean;
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
  /**
   * The quota of the store's directory in bytes, as `StoredImage` counts them. When a new image exceeds it, the least
   * recently used images are removed, but none that a process uses or that was built locally. If that is not enough,
   * the new image fails with a retryable error. Default: no quota.
   */
  maxBytes?: number | undefined;
}

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
export function openInternals(options: StoreOptions): StoreInternals {
  const directory = openStoreDirectory(options.dir, (path, background) =>
    runInWorker("remove", { path }, { background }),
  );
  const leases = new Leases(directory.dir);
  const { maxBytes } = options;
  const limits = withinQuota({ ...DEFAULT_LAYER_LIMITS, ...options.limits }, maxBytes);
  const quota = maxBytes === undefined ? undefined : new Quota(directory.dir, maxBytes);
  const layers = new LayerStore(directory, options.owner, limits);
  const suffix = options.owner === undefined ? "" : `-${options.owner.uid}-${options.owner.gid}`;
  const images = new ImageStore({ store: directory, layers, leases, suffix, limits, quota });
  return { directory, images, layers, names: nameStore(directory), leases };
}

/** An image that is larger than the quota is rejected before it fills the disk. */
function withinQuota(limits: LayerLimits, maxBytes = Number.POSITIVE_INFINITY): LayerLimits {
  const { maxImageBytes, maxImageEntries } = limits;
  return {
    ...limits,
    maxBytes: Math.min(limits.maxBytes, maxBytes),
    maxEntries: Math.min(limits.maxEntries, Math.ceil(maxBytes / BLOCK_BYTES)),
    maxImageBytes: Math.min(maxImageBytes, maxBytes),
    maxImageEntries: Math.min(maxImageEntries, Math.ceil(maxBytes / BLOCK_BYTES)),
  };
}

/** @param image prepares an image by its name */
export function createStore(inside: StoreInternals, image: Store["image"]): Store {
  const { directory, images, names, leases } = inside;
  const store: Store = {
    dir: directory.dir,
    image,
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

/** A digest identifies its content, also if it was stored under another name. */
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

/** Gives a prepared image the name by which it was requested. */
export function named(name: string, { digest, config, layers, overlay, fifos }: ReadyImage): Image {
  return { name, digest, config, layers, overlay, fifos };
}
