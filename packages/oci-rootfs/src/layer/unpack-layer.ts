import { ImageError } from "../base/errors.ts";
import { hasherFor } from "../image/digest.ts";
import { decompressed } from "./decompress.ts";
import { unsafe } from "./entry-path.ts";
import type { LayerRecord } from "./layer-record.ts";
import { LayerWriter, type LayerWriterOptions } from "./layer-writer.ts";
import { TarReader } from "./tar-reader.ts";

export interface UnpackOptions extends LayerWriterOptions {
  /** Packed bytes. The caller verifies their digest and size. */
  source: AsyncIterable<Uint8Array>;
  /** Digest of the unpacked archive, from the image config. */
  diffId: string;
  /** The descriptor's size, for the ratio. */
  packedBytes: number;
}

/**
 * Unpacks one layer into a new directory. After an error, the caller must remove it.
 *
 * @throws ImageError UnsafeLayer, TooLarge, DigestMismatch, or the error of the source
 */
export async function unpackLayer(options: UnpackOptions): Promise<LayerRecord> {
  const { source, diffId, packedBytes, limits } = options;
  const writer = new LayerWriter(options);
  const hasher = hasherFor(diffId);
  const ratioLimit = Math.max(limits.ratioGraceBytes, packedBytes * limits.maxRatio);
  let bytes = 0;
  const check = (count: number): void => {
    if (count > limits.maxBytes) throw unsafe(`unpacks to more than ${limits.maxBytes} bytes`);
    if (count > ratioLimit) throw unsafe(`unpacks to more than ${limits.maxRatio} times its size`);
  };
  const tar = new TarReader({
    add(entry) {
      // Rejects a huge file of zeros before it is on disk.
      if (entry.kind === "file") check(entry.size);
      writer.add(entry);
    },
    write: (chunk) => writer.write(chunk),
    closeFile: () => writer.closeFile(),
  });
  try {
    for await (const chunk of decompressed(source, { reuse: true })) {
      bytes += chunk.length;
      check(bytes);
      hasher.hash.update(chunk);
      tar.write(chunk);
    }
    tar.end();
    if (!hasher.matches()) {
      throw new ImageError(
        "DigestMismatch",
        `the unpacked layer is ${hasher.actual()}, but the config names ${diffId}`,
      );
    }
    return writer.finish(bytes);
  } catch (error) {
    throw ImageError.from(error);
  } finally {
    writer.closeFile();
  }
}
