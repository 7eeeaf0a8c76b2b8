import { constants, copyFileSync } from "node:fs";
import type { BuildLayer, BuiltLayer } from "./build-layer.ts";
import { digestOf } from "./digest.ts";
import { ImageError } from "./errors.ts";
import { type LayoutWriter, layoutWriter, parseLayoutName } from "./layout.ts";
import {
  type Descriptor,
  type HistoryEntry,
  type ImageConfig,
  isIndex,
  MAX_MANIFEST_BYTES,
  type Manifest,
  parseManifestOrIndex,
} from "./manifest.ts";
import { OCI_CONFIG, OCI_LAYER, OCI_LAYER_GZIP, OCI_LAYER_ZSTD, OCI_MANIFEST } from "./media-types.ts";
import { hostPlatform, type Platform } from "./platform.ts";
import { type Image, internalsOf, localNameOf, type Store } from "./store.ts";

/** What the image starts, over what its base says. */
export interface BuildConfig {
  /** Replaces the base's command as well, as a Dockerfile's ENTRYPOINT does. */
  readonly entrypoint?: readonly string[] | undefined;
  readonly cmd?: readonly string[] | undefined;
  /** Added to the base's. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly workdir?: string | undefined;
  readonly user?: string | undefined;
  /** Added to the base's. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export interface BuildOptions {
  /** Holds the base, and the image unless it goes to a layout. */
  readonly store: Store;
  /** A name for the local store, or `oci:DIR[:TAG]` to write an OCI layout (made, or added to). */
  readonly name: string;
  /** What the layers are put on. Default: nothing. */
  readonly base?: Image | undefined;
  /** Bottom first. */
  readonly layers: readonly BuildLayer[];
  readonly config?: BuildConfig | undefined;
  /** Default: the base's, or this machine's. */
  readonly platform?: Platform | undefined;
  /** On the manifest. */
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

/** The time that everything in an image has, so that it can be reproduced. */
const CREATED = "1970-01-01T00:00:00Z";

/** Where the pieces of the image go. */
interface Target {
  has(digest: string): boolean;
  temporary(): string;
  commit(temporary: string, digest: string): void;
  write(digest: string, bytes: Uint8Array): void;
  discard(temporary: string): void;
  /** @returns the name under which the image is found */
  finish(manifest: Descriptor): string;
}

/**
 * Makes an image of files, without a daemon.
 *
 * @throws ImageError BuildFailed; NotFound where the store no longer holds a blob of the base
 */
export async function buildImage(options: BuildOptions): Promise<BuiltImage> {
  try {
    return await build(options);
  } catch (error) {
    throw ImageError.from(error, { image: options.name });
  }
}

async function build(options: BuildOptions): Promise<BuiltImage> {
  const { store, base, layers, config = {}, annotations } = options;
  const target = targetFor(options);
  const inherited = base === undefined ? undefined : readBase(store, base);
  if (layers.length === 0 && inherited === undefined)
    throw new ImageError("BuildFailed", "no layers and no base: nothing to build");
  const platform = options.platform ?? platformOf(base) ?? hostPlatform();

  const { buildLayer } = await import("./build-layer.ts");
  const built: BuiltLayer[] = [];
  for (const [i, layer] of layers.entries()) {
    const temporary = target.temporary();
    try {
      const result = await buildLayer(layer, temporary, inherited === undefined && i === 0);
      target.commit(temporary, result.descriptor.digest);
      built.push(result);
    } catch (error) {
      target.discard(temporary);
      throw ImageError.from(error, { layer: i });
    }
  }
  if (inherited !== undefined) for (const layer of inherited.layers) copyBlob(store, target, layer);

  const configBytes = Buffer.from(JSON.stringify(imageConfig(base, built, config, platform)));
  const configDescriptor = { mediaType: OCI_CONFIG, digest: digestOf(configBytes), size: configBytes.length };
  target.write(configDescriptor.digest, configBytes);
  const all = [...(inherited?.layers ?? []).map(asOci), ...built.map(({ descriptor }) => descriptor)];
  const manifest = {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    config: configDescriptor,
    layers: all,
    ...(annotations !== undefined && { annotations }),
  };
  const bytes = Buffer.from(JSON.stringify(manifest));
  const descriptor = { mediaType: OCI_MANIFEST, digest: digestOf(bytes), size: bytes.length, platform };
  target.write(descriptor.digest, bytes);
  return { name: target.finish(descriptor), digest: descriptor.digest, layers: all };
}

function imageConfig(
  base: Image | undefined,
  built: readonly BuiltLayer[],
  config: BuildConfig,
  platform: Platform,
): ImageConfig {
  const from = base?.config.config ?? {};
  const env = Object.entries(config.env ?? {});
  const names = new Set(env.map(([name]) => name));
  const kept = (from.Env ?? []).filter((entry) => !names.has(entry.slice(0, entry.indexOf("="))));
  const labels = { ...from.Labels, ...config.labels };
  const { Cmd: baseCmd, ...fromWithoutCmd } = from;
  const cmd = config.cmd ?? (config.entrypoint === undefined ? baseCmd : undefined);
  const history: HistoryEntry[] = built.map(() => ({ created: CREATED, created_by: "xfn build" }));
  const { os, architecture, variant } = platform;
  return {
    created: CREATED,
    architecture,
    os,
    ...(variant !== undefined && { variant }),
    config: {
      ...fromWithoutCmd,
      ...(env.length + kept.length > 0 && { Env: [...kept, ...env.map(([name, value]) => `${name}=${value}`)] }),
      ...(config.entrypoint !== undefined && { Entrypoint: config.entrypoint }),
      ...(cmd !== undefined && { Cmd: cmd }),
      ...(config.workdir !== undefined && { WorkingDir: config.workdir }),
      ...(config.user !== undefined && { User: config.user }),
      ...(Object.keys(labels).length > 0 && { Labels: sorted(labels) }),
    },
    rootfs: {
      type: "layers",
      diff_ids: [...(base?.config.rootfs?.diff_ids ?? []), ...built.map(({ diffId }) => diffId)],
    },
    history: [...(base?.config.history ?? []), ...history],
  };
}

function sorted(map: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function platformOf(base: Image | undefined): Platform | undefined {
  const { os, architecture, variant } = base?.config ?? {};
  if (!os || !architecture) return undefined;
  return { os, architecture, ...(variant && { variant }) };
}

function readBase(store: Store, base: Image): Manifest {
  const bytes = internalsOf(store).images.readDocument(base.digest, MAX_MANIFEST_BYTES);
  const manifest = bytes === undefined ? undefined : parseManifestOrIndex(bytes);
  if (manifest === undefined || isIndex(manifest))
    throw new ImageError("NotFound", "the base is not in this store", { digest: base.digest });
  return manifest;
}

/** Docker's layers are the same archives under another name. */
function asOci(layer: Descriptor): Descriptor {
  const { mediaType } = layer;
  if (!mediaType.startsWith("application/vnd.docker.")) return layer;
  const oci = mediaType.endsWith(".gzip") ? OCI_LAYER_GZIP : mediaType.endsWith(".zstd") ? OCI_LAYER_ZSTD : OCI_LAYER;
  return { ...layer, mediaType: oci };
}

function copyBlob(store: Store, target: Target, blob: Descriptor): void {
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

function targetFor({ store, name }: BuildOptions): Target {
  return name.startsWith("oci:") ? layoutTarget(name) : storeTarget(store, name);
}

function layoutTarget(name: string): Target {
  const { dir, tag } = parseLayoutName(name);
  const writer: LayoutWriter = layoutWriter(dir);
  return {
    ...writer,
    finish(manifest) {
      writer.tag(manifest, tag);
      return `oci:${dir}${tag === undefined ? "" : `:${tag}`}`;
    },
  };
}

function storeTarget(store: Store, name: string): Target {
  const { directory, images, names } = internalsOf(store);
  const filed = localNameOf(name);
  return {
    // Only the base is asked for, and that is where it comes from.
    has: () => true,
    temporary: () => directory.temporary(),
    commit: (temporary, digest) => void directory.commit(temporary, directory.blobPath(digest)),
    write: (digest, bytes) => images.keepDocument(digest, bytes),
    discard: (temporary) => directory.remove(temporary),
    finish({ mediaType, digest, size }) {
      names.put({ name: filed, target: { mediaType, digest, size }, manifests: {}, built: true });
      return filed;
    },
  };
}
