import { ImageError } from "../base/errors.ts";
import { digestOf } from "../image/digest.ts";
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
import { readImageManifest } from "../store/read-image.ts";
import type { Image, Store } from "../store/store.ts";
import { type BuildConfig, imageConfig, sorted } from "./build-config.ts";
import type { BuildLayer, BuiltLayer } from "./build-layer.ts";
import { type BuildTarget, buildTarget, copyBlob } from "./build-target.ts";

/** One image: layers on a base, and what it starts. */
export interface ImageRecipe {
  /** What the layers are put on. Default: nothing. */
  readonly base?: Image | undefined;
  /** Bottom first. */
  readonly layers: readonly BuildLayer[];
  /** A function is given the descriptors of `layers`, for labels that name them. */
  readonly config?: BuildConfig | ((layers: readonly Descriptor[]) => BuildConfig) | undefined;
  /** Default: the base's, or this machine's. */
  readonly platform?: Platform | undefined;
  /** On the manifest. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

export interface BuildOptions extends ImageRecipe {
  /** Holds the base, and the image unless it goes to a layout. */
  readonly store: Store;
  /** A name for the local store, or `oci:DIR[:TAG]` to write an OCI layout (made, or added to). */
  readonly name: string;
}

export interface BuildIndexOptions extends Pick<BuildOptions, "store" | "name"> {
  /** One per platform, in the order in which they are to be listed. Layers that several share are packed once. */
  readonly images: readonly ImageRecipe[];
  /** On the index. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

export interface BuiltImage {
  /** As `Store.image` takes it. */
  readonly name: string;
  /** Of the manifest. The same input gives the same digest. */
  readonly digest: string;
  /** All layers, those of the base included. */
  readonly layers: readonly Descriptor[];
}

export interface BuiltIndex {
  /** As `Store.image` takes it. */
  readonly name: string;
  /** Of the index. The same input gives the same digest. */
  readonly digest: string;
  /** In the order of the index. */
  readonly images: readonly { readonly platform: Platform; readonly digest: string }[];
}

/**
 * Makes an image of files, without a daemon.
 *
 * @throws ImageError BuildFailed; NotFound where the store no longer holds a blob of the base
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
 * Makes one image per platform, and an index that names them all (image-spec, "OCI Image Index Specification").
 *
 * @throws ImageError BuildFailed, also for two images of one platform; NotFound as `buildImage`
 */
export async function buildIndex(options: BuildIndexOptions): Promise<BuiltIndex> {
  const { store, name, images, annotations } = options;
  try {
    const target = buildTarget(store, name);
    if (images.length === 0) throw new ImageError("BuildFailed", "an index of no images: nothing to build");
    const packed = new Map<BuildLayer, BuiltLayer>();
    const manifests: (Descriptor & { readonly platform: Platform })[] = [];
    const platforms = new Set<string>();
    for (const recipe of images) {
      const { descriptor } = await writeImage(store, target, recipe, packed);
      const platform = printPlatform(descriptor.platform);
      // Who asks for that platform would get either of them.
      if (platforms.has(platform)) throw new ImageError("BuildFailed", `there are two images for ${platform}`);
      platforms.add(platform);
      manifests.push(descriptor);
    }
    const index = { schemaVersion: 2, mediaType: OCI_INDEX, manifests, ...annotated(annotations) };
    const bytes = Buffer.from(JSON.stringify(index));
    const top = { mediaType: OCI_INDEX, digest: digestOf(bytes), size: bytes.length };
    target.write(top.digest, bytes);
    return {
      name: target.finish(top),
      digest: top.digest,
      images: manifests.map(({ platform, digest }) => ({ platform, digest })),
    };
  } catch (error) {
    throw ImageError.from(error, { image: name });
  }
}

/** Writes an image's blobs and its manifest, which has no name yet. */
async function writeImage(
  store: Store,
  target: BuildTarget,
  recipe: ImageRecipe,
  packed: Map<BuildLayer, BuiltLayer>,
): Promise<{ descriptor: Descriptor & { readonly platform: Platform }; layers: readonly Descriptor[] }> {
  const { base, layers, annotations } = recipe;
  const inherited = base === undefined ? undefined : readImageManifest(store, base);
  if (layers.length === 0 && inherited === undefined)
    throw new ImageError("BuildFailed", "no layers and no base: nothing to build");
  const platform = recipe.platform ?? platformOf(base) ?? hostPlatform();
  const built: BuiltLayer[] = [];
  for (const [i, layer] of layers.entries()) {
    const isBottom = inherited === undefined && i === 0;
    // As the bottom of an image a layer has other entries than on top of one.
    const known = isBottom ? undefined : packed.get(layer);
    const made = known ?? (await packLayer(target, layer, isBottom, i));
    if (!isBottom) packed.set(layer, made);
    built.push(made);
  }
  const own = built.map(({ descriptor }) => descriptor);
  const config = typeof recipe.config === "function" ? recipe.config(own) : (recipe.config ?? {});
  const all = [...inheritedLayers(store, target, inherited), ...own];
  const configBytes = Buffer.from(JSON.stringify(imageConfig(base, built, config, platform)));
  const configDescriptor = { mediaType: OCI_CONFIG, digest: digestOf(configBytes), size: configBytes.length };
  target.write(configDescriptor.digest, configBytes);
  const manifest = {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    config: configDescriptor,
    layers: all,
    ...annotated(annotations),
  };
  const bytes = Buffer.from(JSON.stringify(manifest));
  const descriptor = { mediaType: OCI_MANIFEST, digest: digestOf(bytes), size: bytes.length, platform };
  target.write(descriptor.digest, bytes);
  return { descriptor, layers: all };
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

function annotated(annotations: Readonly<Record<string, string>> | undefined): { annotations?: object } {
  return annotations === undefined || Object.keys(annotations).length === 0 ? {} : { annotations: sorted(annotations) };
}

function platformOf(base: Image | undefined): Platform | undefined {
  const { os, architecture, variant } = base?.config ?? {};
  if (!os || !architecture) return undefined;
  return { os, architecture, ...(variant && { variant }) };
}

/** Docker's layers are the same archives under another name. */
function asOci(layer: Descriptor): Descriptor {
  const { mediaType } = layer;
  if (!mediaType.startsWith("application/vnd.docker.")) return layer;
  const oci = mediaType.endsWith(".gzip") ? OCI_LAYER_GZIP : mediaType.endsWith(".zstd") ? OCI_LAYER_ZSTD : OCI_LAYER;
  return { ...layer, mediaType: oci };
}
