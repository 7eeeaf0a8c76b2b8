import { createHash } from "node:crypto";
import { copyFileSync, createReadStream, readFileSync, statSync } from "node:fs";
import { ImageError } from "../base/errors.ts";
import { throwIfAborted } from "../base/single-flight.ts";
import { sorted } from "../build/build-config.ts";
import { digestOf } from "../image/digest.ts";
import { parseLayoutName } from "../image/image-name.ts";
import { type Descriptor, type ImageConfig, MAX_CONFIG_BYTES, MAX_LAYERS, parseConfig } from "../image/manifest.ts";
import { OCI_CONFIG, OCI_INDEX, OCI_LAYER_GZIP, OCI_LAYER_ZSTD, OCI_MANIFEST } from "../image/media-types.ts";
import { type Platform, printPlatform } from "../image/platform.ts";
import { decompressed } from "../layer/decompress.ts";
import { gzipLayer } from "../layer/gzip-layer.ts";
import { type LayoutWriter, layoutWriter } from "../store/layout.ts";
import { type ArchivePart, type ArchiveParts, findPart, unpackParts } from "./archive-files.ts";

export interface ReadArchiveOptions {
  /** Files as `docker save` and `writeArchive` write them. Of several an index is made. */
  paths: readonly string[];
  /** `oci:DIR[:TAG]`: the layout that the image is put into. */
  to: string;
  /** Annotations of a layer, which an archive cannot hold, from what its configuration says. */
  layerAnnotations?: (config: ImageConfig, layer: Descriptor) => Readonly<Record<string, string>> | undefined;
  /** On manifests and index. */
  annotations?: Readonly<Record<string, string>> | undefined;
  signal?: AbortSignal | undefined;
}

/** What was read. */
export interface ReadArchiveResult {
  /** Of the manifest or index. */
  readonly digest: string;
  /** In the order of `paths`. */
  readonly configs: readonly ImageConfig[];
}

/** `manifest.json` of an image with as many layers and hundreds of names. */
const MAX_LIST_BYTES = 1024 * 1024;

/**
 * Reads image archives into a layout. Nothing in them is trusted: paths in them are names and nothing else, layers are held
 * against the digests in the configuration.
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
  // Opening a FIFO would wait for a writer that never comes.
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new ImageError("NotFound", "there is no such file");
  if (!stats.isFile()) throw invalid("not a regular file");
  const parts: ArchiveParts = { files: new Map(), links: new Map() };
  try {
    await unpackParts(path, writer, parts, options.signal);
    return await toImage(parts, writer, options);
  } finally {
    for (const { temporary } of parts.files.values()) writer.discard(temporary);
  }
}

async function toImage(
  parts: ArchiveParts,
  writer: LayoutWriter,
  { layerAnnotations, annotations, signal }: ReadArchiveOptions,
): Promise<{ descriptor: Descriptor; config: ImageConfig }> {
  const { Config, Layers } = readList(parts);
  const configPart = findPart(parts, Config);
  if (configPart.size > MAX_CONFIG_BYTES)
    throw new ImageError("TooLarge", `image config is ${configPart.size} bytes, more than ${MAX_CONFIG_BYTES}`);
  const configBytes = readFileSync(configPart.temporary);
  const config = parseConfig(configBytes, Layers.length);
  const layers: Descriptor[] = [];
  for (const [i, name] of Layers.entries()) {
    throwIfAborted(signal);
    try {
      const layer = await toLayer(findPart(parts, name), config.rootfs?.diff_ids[i] as string, writer);
      const added = layerAnnotations?.(config, layer);
      layers.push(added === undefined ? layer : { ...layer, annotations: added });
    } catch (error) {
      throw ImageError.from(error, { layer: i });
    }
  }
  writer.write(configPart.digest, configBytes);
  const descriptor = writeDocument(writer, OCI_MANIFEST, {
    config: { mediaType: OCI_CONFIG, digest: configPart.digest, size: configPart.size },
    layers,
    ...annotated(annotations),
  });
  const { os = "", architecture = "", variant } = config;
  const platform = { os, architecture, ...(variant && { variant }) };
  return { descriptor: os === "" ? descriptor : { ...descriptor, platform }, config };
}

/** Puts a layer where blobs are, packed if it is not yet, and holds it against the digest of what is in it. */
async function toLayer(part: ArchivePart, diffId: string, writer: LayoutWriter): Promise<Descriptor> {
  const gzip = part.head.length >= 2 && part.head.readUInt16BE(0) === 0x1f8b;
  const zstd = part.head.length === 4 && part.head.readUInt32LE(0) === 0xfd2fb528;
  let unpacked = part.digest;
  if (gzip || zstd) {
    const hash = createHash("sha256");
    for await (const chunk of decompressed(createReadStream(part.temporary))) hash.update(chunk);
    unpacked = `sha256:${hash.digest("hex")}`;
  }
  if (unpacked !== diffId)
    throw new ImageError("DigestMismatch", `the layer's content is ${unpacked}, the config says ${diffId}`);
  const temporary = writer.temporary();
  try {
    const plain = !gzip && !zstd;
    const packed = plain ? await gzipLayer(createReadStream(part.temporary), temporary) : part;
    // A copy where it is packed already: the archive may name one file for several layers.
    if (!plain) copyFileSync(part.temporary, temporary);
    writer.commit(temporary, packed.digest);
    return { mediaType: zstd ? OCI_LAYER_ZSTD : OCI_LAYER_GZIP, digest: packed.digest, size: packed.size };
  } catch (error) {
    writer.discard(temporary);
    throw error;
  }
}

function readList(parts: ArchiveParts): { Config: string; Layers: readonly string[] } {
  const part = parts.files.get("manifest.json");
  if (part === undefined)
    throw invalid(
      parts.files.has("index.json")
        ? "an archive of an OCI layout: unpack it and use oci:DIR, or `skopeo copy oci-archive:FILE docker-archive:FILE`"
        : "it has no manifest.json: not an image archive such as docker save and xpkg build write",
    );
  if (part.size > MAX_LIST_BYTES)
    throw new ImageError("TooLarge", `manifest.json is ${part.size} bytes, more than ${MAX_LIST_BYTES}`);
  let list: unknown;
  try {
    list = JSON.parse(readFileSync(part.temporary, "utf8"));
  } catch (cause) {
    throw new ImageError("InvalidManifest", "manifest.json is not JSON", { cause });
  }
  if (!Array.isArray(list) || list.length !== 1)
    throw invalid(`manifest.json names ${Array.isArray(list) ? list.length : "no"} images, not one`);
  const { Config, Layers } = (list[0] ?? {}) as { Config?: unknown; Layers?: unknown };
  const isNames = Array.isArray(Layers) && Layers.every((name) => typeof name === "string");
  if (typeof Config !== "string" || !isNames || Layers.length > MAX_LAYERS)
    throw invalid("manifest.json does not name a config and layers");
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
      throw invalid("an index is made of images for several platforms, and one of these has none");
    const text = printPlatform(platform);
    if (platforms.has(text)) throw invalid(`there are two images for ${text}`);
    platforms.add(text);
  }
  const manifests = images.map(({ descriptor }) => descriptor);
  return writeDocument(writer, OCI_INDEX, { manifests, ...annotated(annotations) });
}

function writeDocument(writer: LayoutWriter, mediaType: string, content: object): Descriptor {
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, ...content }));
  const descriptor = { mediaType, digest: digestOf(bytes), size: bytes.length };
  writer.write(descriptor.digest, bytes);
  return descriptor;
}

function annotated(annotations: ReadArchiveOptions["annotations"]): { annotations?: object } {
  return annotations === undefined || Object.keys(annotations).length === 0 ? {} : { annotations: sorted(annotations) };
}

function invalid(why: string): ImageError {
  return new ImageError("InvalidManifest", why);
}
