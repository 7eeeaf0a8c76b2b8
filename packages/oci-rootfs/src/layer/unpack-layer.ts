import { ImageError } from "../base/errors.ts";
import { hasherFor } from "../image/digest.ts";
import { MODULE_FILE } from "../image/wasm-image.ts";
import { decompressed } from "./decompress.ts";
import { unsafe } from "./entry-path.ts";
import type { LayerLimits } from "./layer-limits.ts";
import type { UnpackedLayer } from "./layer-record.ts";
import { LayerWriter } from "./layer-writer.ts";
import type { LayerWriterOptions } from "./layer-writer-options.ts";
import { TarReader } from "./tar-reader.ts";

export interface LayerContent {
  /** Packed bytes. The caller verifies their digest and size. */
  source: AsyncIterable<Uint8Array>;
  /** Digest of the unpacked archive, from the image config. */
  diffId: string;
  /** The descriptor's size, for the ratio. */
  packedBytes: number;
  /** Whether the bytes are a WebAssembly module, which becomes the layer's only file. */
  isModule?: boolean | undefined;
  limits: LayerLimits;
}

export interface UnpackOptions extends LayerContent, LayerWriterOptions {
  /** Gives up on a layer that unpacks to more bytes. Default: no limit. */
  maxBytes?: number | undefined;
}

/**
 * Unpacks one layer into a new directory. Returns undefined for a layer of more than `maxNodes` or `maxBytes`. Then,
 * and after an error, the caller must remove the directory.
 *
 * @throws ImageError UnsafeLayer, TooLarge, DigestMismatch, or the error of the source
 */
export async function unpackLayer(options: UnpackOptions): Promise<UnpackedLayer | undefined> {
  const { maxBytes = Number.POSITIVE_INFINITY } = options;
  const writer = new LayerWriter(options);
  const content = new ContentCheck(options);
  if (options.isModule === true) return await writeModule(options, writer, content);
  const tar = new TarReader({
    add(entry) {
      // Rejects a huge file of zeros before it is on disk.
      if (entry.kind === "file") content.checkSize(entry.size);
      writer.add(entry);
    },
    write: (chunk) => writer.write(chunk),
    closeFile: () => writer.closeFile(),
  });
  try {
    for await (const chunk of decompressed(options.source, { reuse: true })) {
      content.add(chunk);
      tar.write(chunk);
      if (writer.isTooLarge || content.bytes > maxBytes) return undefined;
    }
    tar.end();
    content.finish();
    return writer.finish(content.bytes);
  } catch (error) {
    throw ImageError.from(error);
  } finally {
    writer.closeFile();
  }
}

/** Writes a module as a file. */
async function writeModule(
  { source, packedBytes: size, maxBytes = Number.POSITIVE_INFINITY }: UnpackOptions,
  writer: LayerWriter,
  content: ContentCheck,
): Promise<UnpackedLayer | undefined> {
  try {
    content.checkSize(size);
    writer.add({ kind: "file", path: MODULE_FILE, size, mode: 0o444, mtime: 0 });
    for await (const chunk of source) {
      content.add(chunk);
      writer.write(chunk);
      if (content.bytes > maxBytes) return undefined;
    }
    content.finish();
    return writer.finish(content.bytes);
  } finally {
    writer.closeFile();
  }
}

/**
 * Verifies that a packed layer has the unpacked digest, without writing it.
 *
 * @throws ImageError UnsafeLayer, DigestMismatch, or the error of the source
 */
export async function verifyLayer(options: LayerContent): Promise<void> {
  const content = new ContentCheck(options);
  const { source, isModule = false } = options;
  for await (const chunk of isModule ? source : decompressed(source, { reuse: true })) content.add(chunk);
  content.finish();
}

/** Checks size, ratio and digest of unpacked content. */
class ContentCheck {
  readonly #options: Omit<LayerContent, "source">;
  readonly #hasher: ReturnType<typeof hasherFor>;
  readonly #ratioLimit: number;
  bytes = 0;

  constructor(options: Omit<LayerContent, "source">) {
    const { diffId, packedBytes, limits } = options;
    this.#options = options;
    this.#hasher = hasherFor(diffId);
    this.#ratioLimit = Math.max(limits.ratioGraceBytes, packedBytes * limits.maxRatio);
  }

  add(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    this.checkSize(this.bytes);
    this.#hasher.hash.update(chunk);
  }

  checkSize(bytes: number): void {
    const { limits } = this.#options;
    if (bytes > limits.maxBytes) throw unsafe(`unpacks to more than ${limits.maxBytes} bytes`);
    if (bytes > this.#ratioLimit) throw unsafe(`unpacks to more than ${limits.maxRatio} times its size`);
  }

  finish(): void {
    if (this.#hasher.matches()) return;
    const { diffId } = this.#options;
    throw new ImageError(
      "DigestMismatch",
      `the unpacked layer is ${this.#hasher.actual()}, but the config names ${diffId}`,
      { digest: diffId },
    );
  }
}
