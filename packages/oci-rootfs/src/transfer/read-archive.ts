import { copyFileSync, createReadStream, readFileSync, statSync } from "node:fs";
import { ImageError } from "../base/errors.ts";
import { throwIfAborted } from "../base/single-flight.ts";
import { annotationsField } from "../build/build-config.ts";
import { digestOf } from "../image/digest.ts";
import { parseLayoutName } from "../image/image-name.ts";
import { type Descriptor, type ImageConfig, MAX_CONFIG_BYTES, MAX_LAYERS, parseConfig } from "../image/manifest.ts";
import { OCI_CONFIG, OCI_INDEX, OCI_LAYER_GZIP, OCI_LAYER_ZSTD, OCI_MANIFEST } from "../image/media-types.ts";
import { type Platform, printPlatform } from "../image/platform.ts";
import { gzipLayer } from "../layer/gzip-layer.ts";
import { DEFAULT_LAYER_LIMITS } from "../layer/layer-limits.ts";
import { verifyLayer } from "../layer/unpack-layer.ts";
import { type LayoutWriter, layoutWriter } from "../store/layout.ts";
import { type ArchiveFile, type ArchiveFiles, extractFiles, findFile, invalidArchive } from "./archive-files.ts";

export interface ReadArchiveOptions {
  /** Archives of `docker save` or `writeArchive`. Several archives become an index. */
  paths: readonly string[];
  /** `oci:DIR[:TAG]`: the layout to write. */
  to: string;
  /** Returns the annotations of a layer, which an archive cannot contain, from the image config. */
  layerAnnotations?: (config: ImageConfig, layer: Descriptor) => Readonly<Record<string, string>> | undefined;
  /** Annotations of the manifests and the index. */
  annotations?: Readonly<Record<string, string>> | undefined;
  signal?: AbortSignal | undefined;
}

export interface ReadArchiveResult {
  /** Digest of the manifest or index. */
  readonly digest: string;
  /** In the order of `paths`. */
  readonly configs: readonly ImageConfig[];
}

/** Sufficient for a `manifest.json` with the maximum of layers and hundreds of names. */
const MAX_LIST_BYTES = 1024 * 1024;

/**
 * Reads image archives into a layout. Archives are untrusted: their paths are only names, and layers are verified by
 * the digests in the image config.
 *
 * @throws ImageError
 */
export async function readArchive(options: ReadArchiveOptions): Promise<ReadArchiveResult> {
  const { dir, tag } = parseLayoutName(options.to);
  const writer = layoutWriter(dir);
  const images: { descriptor: Descriptor; config: ImageConfig }[] = [];
  for (const path of options.paths) {
    try {
      images.push(await readOne(path, writer, options));
    } catch (error) {
      throw ImageError.from(error, { image: path });
    }
  }
  const [only, second] = images;
  if (only === undefined) throw new TypeError("no archives to read");
  const top = second === undefined ? only.descriptor : writeIndex(images, writer, options.annotations);
  writer.tag(top, tag);
  return { digest: top.digest, configs: images.map(({ config }) => config) };
}

async function readOne(
  path: string,
  writer: LayoutWriter,
  options: ReadArchiveOptions,
): Promise<{ descriptor: Descriptor; config: ImageConfig }> {
  // Opening a FIFO would block.
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new ImageError("NotFound", "the file does not exist");
  if (!stats.isFile()) throw invalidArchive("not a regular file");
  const archive: ArchiveFiles = { files: new Map(), links: new Map() };
  try {
    await extractFiles(path, writer, archive, options.signal);
    return await toImage(archive, writer, options);
  } finally {
    for (const { temporary } of archive.files.values()) writer.discard(temporary);
  }
}

async function toImage(
  archive: ArchiveFiles,
  writer: LayoutWriter,
  { layerAnnotations, annotations, signal }: ReadArchiveOptions,
): Promise<{ descriptor: Descriptor; config: ImageConfig }> {
  const { Config, Layers } = readList(archive);
  const configFile = findFile(archive, Config);
  if (configFile.size > MAX_CONFIG_BYTES)
    throw new ImageError("TooLarge", `image config is ${configFile.size} bytes, more than ${MAX_CONFIG_BYTES}`);
  const configBytes = readFileSync(configFile.temporary);
  const config = parseConfig(configBytes, Layers.length);
  const layers: Descriptor[] = [];
  for (const [i, name] of Layers.entries()) {
    throwIfAborted(signal);
    try {
      const layer = await toLayer(findFile(archive, name), config.rootfs?.diff_ids[i] as string, writer, signal);
      const added = layerAnnotations?.(config, layer);
      layers.push(added === undefined ? layer : { ...layer, annotations: added });
    } catch (error) {
      throw ImageError.from(error, { layer: i });
    }
  }
  writer.write(configFile.digest, configBytes);
  const descriptor = writeDocument(writer, OCI_MANIFEST, {
    config: { mediaType: OCI_CONFIG, digest: configFile.digest, size: configFile.size },
    layers,
    ...annotationsField(annotations),
  });
  const { os = "", architecture = "", variant } = config;
  const platform = { os, architecture, ...(variant && { variant }) };
  return { descriptor: os === "" ? descriptor : { ...descriptor, platform }, config };
}

/** Adds a layer to the blobs. Verifies size and digest of its content, and compresses it if it is not yet. */
async function toLayer(
  file: ArchiveFile,
  diffId: string,
  writer: LayoutWriter,
  signal: AbortSignal | undefined,
): Promise<Descriptor> {
  const gzip = file.head.length >= 2 && file.head.readUInt16BE(0) === 0x1f8b;
  const zstd = file.head.length === 4 && file.head.readUInt32LE(0) === 0xfd2fb528;
  if (gzip || zstd) {
    const source = createReadStream(file.temporary, { signal });
    await verifyLayer({ source, diffId, packedBytes: file.size, limits: DEFAULT_LAYER_LIMITS });
  } else if (file.digest !== diffId)
    throw new ImageError("DigestMismatch", `the layer's content is ${file.digest}, but the config names ${diffId}`);
  const temporary = writer.temporary();
  try {
    const plain = !gzip && !zstd;
    const packed = plain ? await gzipLayer(createReadStream(file.temporary, { signal }), temporary) : file;
    // Copied and not moved, because several layers of the archive may be one file.
    if (!plain) copyFileSync(file.temporary, temporary);
    writer.commit(temporary, packed.digest);
    return { mediaType: zstd ? OCI_LAYER_ZSTD : OCI_LAYER_GZIP, digest: packed.digest, size: packed.size };
  } catch (error) {
    writer.discard(temporary);
    throw error;
  }
}

function readList({ files }: ArchiveFiles): { Config: string; Layers: readonly string[] } {
  const file = files.get("manifest.json");
  if (file === undefined)
    throw invalidArchive(
      files.has("index.json")
        ? "this is an archive of an OCI layout: extract it and use oci:DIR, or run `skopeo copy oci-archive:FILE docker-archive:FILE`"
        : "it has no manifest.json: not an image archive such as docker save and xpkg build write",
    );
  if (file.size > MAX_LIST_BYTES)
    throw new ImageError("TooLarge", `manifest.json is ${file.size} bytes, more than ${MAX_LIST_BYTES}`);
  let list: unknown;
  try {
    list = JSON.parse(readFileSync(file.temporary, "utf8"));
  } catch (cause) {
    throw new ImageError("InvalidManifest", "manifest.json is not JSON", { cause });
  }
  if (!Array.isArray(list) || list.length !== 1)
    throw invalidArchive(`manifest.json names ${Array.isArray(list) ? list.length : "no"} images, not one`);
  const { Config, Layers } = (list[0] ?? {}) as { Config?: unknown; Layers?: unknown };
  const isNames = Array.isArray(Layers) && Layers.every((name) => typeof name === "string");
  if (typeof Config !== "string" || !isNames || Layers.length > MAX_LAYERS)
    throw invalidArchive("manifest.json does not name a config and layers");
  return { Config, Layers };
}

function writeIndex(
  images: readonly { descriptor: Descriptor }[],
  writer: LayoutWriter,
  annotations: ReadArchiveOptions["annotations"],
): Descriptor {
  const platforms = new Set<string>();
  for (const { descriptor } of images) {
    const platform: Platform | undefined = descriptor.platform;
    if (platform === undefined)
      throw invalidArchive("an index needs the platform of each image, and one image has none");
    const text = printPlatform(platform);
    if (platforms.has(text)) throw invalidArchive(`there are two images for ${text}`);
    platforms.add(text);
  }
  const manifests = images.map(({ descriptor }) => descriptor);
  return writeDocument(writer, OCI_INDEX, { manifests, ...annotationsField(annotations) });
}

function writeDocument(writer: LayoutWriter, mediaType: string, content: object): Descriptor {
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, ...content }));
  const descriptor = { mediaType, digest: digestOf(bytes), size: bytes.length };
  writer.write(descriptor.digest, bytes);
  return descriptor;
}
