import { ImageError } from "../base/errors.ts";
import type { Descriptor, Manifest } from "../image/manifest.ts";
import {
  OCI_CONFIG,
  OCI_INDEX,
  OCI_LAYER,
  OCI_LAYER_GZIP,
  OCI_LAYER_ZSTD,
  OCI_MANIFEST,
} from "../image/media-types.ts";
import { hostPlatform, type Platform, printPlatform } from "../image/platform.ts";
import { readImageConfig, readImageManifest } from "../store/read-image.ts";
import type { Image, Store } from "../store/store.ts";
import { annotationsField, type BuildConfig, imageConfig } from "./build-config.ts";
import type { BuildLayer, BuiltLayer } from "./build-layer.ts";
import { type BuildTarget, buildTarget, copyBlob, writeContent } from "./build-target.ts";

/** One image: layers on a base, and its config. */
export interface ImageSpec {
  /** Default: none. */
  readonly base?: Image | undefined;
  /** Bottom first. */
  readonly layers: readonly BuildLayer[];
  /** A function receives the descriptors of `layers`, for labels that name them. */
  readonly config?: BuildConfig | ((layers: readonly Descriptor[]) => BuildConfig) | undefined;
  /** Default: the platform of the base, or of this machine. */
  readonly platform?: Platform | undefined;
  /** Annotations of the manifest. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

export interface BuildOptions extends ImageSpec {
  /** Contains the base, and the new image unless `name` is a layout. */
  readonly store: Store;
  /** A name for the local store, or `oci:DIR[:TAG]` for a new or existing OCI layout. */
  readonly name: string;
}

export interface BuildIndexOptions extends Pick<BuildOptions, "store" | "name"> {
  /** One per platform, in the order of the index. Shared layers are packed once. */
  readonly images: readonly ImageSpec[];
  /** Annotations of the index. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

export interface BuiltImage {
  /** The name for `Store.image`. */
  readonly name: string;
  /** Digest of the manifest. The same input gives the same digest. */
  readonly digest: string;
  /** All layers, including those of the base. */
  readonly layers: readonly Descriptor[];
}

export interface BuiltIndex {
  /** The name for `Store.image`. */
  readonly name: string;
  /** Digest of the index. The same input gives the same digest. */
  readonly digest: string;
  /** In the order of the index. */
  readonly images: readonly { readonly platform: Platform; readonly digest: string }[];
}

/**
 * Builds an image from files, without a daemon.
 *
 * @throws ImageError BuildFailed; NotFound if a blob of the base is no longer in the store
 */
export async function buildImage(options: BuildOptions): Promise<BuiltImage> {
  try {
    const target = buildTarget(options.store, options.name);
    const { descriptor, layers } = await writeImage(options.store, target, options, new Map());
    return { name: target.finish(descriptor), digest: descriptor.digest, layers };
  } catch (error) {
    throw ImageError.from(error, { image: options.name });
  }
}

/**
 * Builds one image per platform, and their index (OCI image-spec, "OCI Image Index Specification").
 *
 * @throws ImageError BuildFailed, also for two images of one platform; NotFound as for `buildImage`
 */
export async function buildIndex(options: BuildIndexOptions): Promise<BuiltIndex> {
  const { store, name, images, annotations } = options;
  try {
    const target = buildTarget(store, name);
    if (images.length === 0) throw new ImageError("BuildFailed", "the index has no images: nothing to build");
    const packed = new Map<BuildLayer, BuiltLayer>();
    const manifests: (Descriptor & { readonly platform: Platform })[] = [];
    const platforms = new Set<string>();
    for (const spec of images) {
      const { descriptor } = await writeImage(store, target, spec, packed);
      const platform = printPlatform(descriptor.platform);
      if (platforms.has(platform)) throw new ImageError("BuildFailed", `two images have the platform ${platform}`);
      platforms.add(platform);
      manifests.push(descriptor);
    }
    const index = { schemaVersion: 2, mediaType: OCI_INDEX, manifests, ...annotationsField(annotations) };
    const top = writeContent(target, OCI_INDEX, index);
    return {
      name: target.finish(top),
      digest: top.digest,
      images: manifests.map(({ platform, digest }) => ({ platform, digest })),
    };
  } catch (error) {
    throw ImageError.from(error, { image: name });
  }
}

/** Writes an image's blobs and its manifest, without a name. */
async function writeImage(
  store: Store,
  target: BuildTarget,
  spec: ImageSpec,
  packed: Map<BuildLayer, BuiltLayer>,
): Promise<{ descriptor: Descriptor & { readonly platform: Platform }; layers: readonly Descriptor[] }> {
  const { base, layers, annotations } = spec;
  const inherited = base === undefined ? undefined : readImageManifest(store, base);
  if (layers.length === 0 && inherited === undefined)
    throw new ImageError("BuildFailed", "no layers and no base: nothing to build");
  const platform = spec.platform ?? platformOf(base) ?? hostPlatform();
  const built: BuiltLayer[] = [];
  for (const [i, layer] of layers.entries()) {
    const isBottom = inherited === undefined && i === 0;
    // A bottom layer has other entries than the same layer on a base.
    const known = isBottom ? undefined : packed.get(layer);
    const made = known ?? (await packLayer(target, layer, isBottom, i));
    if (!isBottom) packed.set(layer, made);
    built.push(made);
  }
  const own = built.map(({ descriptor }) => descriptor);
  const config = typeof spec.config === "function" ? spec.config(own) : (spec.config ?? {});
  const whole = inherited === undefined ? undefined : readImageConfig(store, inherited);
  // The caller may have changed the base's fields, such as its labels.
  const from = whole === undefined ? undefined : { ...whole, config: { ...whole.config, ...base?.config.config } };
  const all = [...inheritedLayers(store, target, inherited), ...own];
  const manifest = {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    config: writeContent(target, OCI_CONFIG, imageConfig(from, built, config, platform)),
    layers: all,
    ...annotationsField(annotations),
  };
  return { descriptor: { ...writeContent(target, OCI_MANIFEST, manifest), platform }, layers: all };
}

async function packLayer(target: BuildTarget, layer: BuildLayer, isBottom: boolean, at: number): Promise<BuiltLayer> {
  const { buildLayer } = await import("./build-layer.ts");
  const temporary = target.temporary();
  try {
    const result = await buildLayer(layer, temporary, isBottom);
    target.commit(temporary, result.descriptor.digest);
    return result;
  } catch (error) {
    target.discard(temporary);
    throw ImageError.from(error, { layer: at });
  }
}

function inheritedLayers(store: Store, target: BuildTarget, base: Manifest | undefined): Descriptor[] {
  const layers = base?.layers ?? [];
  for (const layer of layers) copyBlob(store, target, layer);
  return layers.map(asOci);
}

/** The platform of a base; undefined without one, and for one that names none. */
export function platformOf(base: Pick<Image, "config"> | undefined): Platform | undefined {
  const { os, architecture, variant } = base?.config ?? {};
  if (!os || !architecture) return undefined;
  return { os, architecture, ...(variant && { variant }) };
}

/** Docker's layers have the same content under other media types. */
function asOci(layer: Descriptor): Descriptor {
  const { mediaType } = layer;
  if (!mediaType.startsWith("application/vnd.docker.")) return layer;
  const oci = mediaType.endsWith(".gzip") ? OCI_LAYER_GZIP : mediaType.endsWith(".zstd") ? OCI_LAYER_ZSTD : OCI_LAYER;
  return { ...layer, mediaType: oci };
}
