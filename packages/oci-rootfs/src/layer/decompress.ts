import { createGunzip, createZstdDecompress } from "node:zlib";
import { unsafe } from "./entry-path.ts";

/** Bytes that come out of the decompressor at once: each time costs a way to another thread and back. */
const CHUNK_BYTES = 256 * 1024;

/**
 * Unpacks gzip, zstd or plain content, whichever its first bytes say: registries and old tools label layers wrongly,
 * and the digest of what comes out is checked by the caller.
 *
 * @param source - may use one buffer for all its chunks
 * @param options - `reuse`: the memory of a chunk is given back when the next one is asked for; nothing may still read it then
 * @returns chunks that are good until the next one is asked for
 */
export async function* decompressed(
  source: AsyncIterable<Uint8Array>,
  { reuse = false }: { reuse?: boolean } = {},
): AsyncGenerator<Uint8Array, void> {
  const iterator = source[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  let done = false;
  while (head.length < 4 && !done) {
    const next = await iterator.next();
    if (next.done) done = true;
    else head = Buffer.concat([head, next.value]);
  }
  const rest = async function* (): AsyncGenerator<Uint8Array, void> {
    try {
      if (head.length > 0) yield head;
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  };
  const decoder = decoderFor(head);
  if (decoder === undefined) {
    yield* rest();
    return;
  }
  // Not a pipeline, which reads ahead: a chunk is only good until the next one is asked for.
  const feed = async (): Promise<void> => {
    for await (const chunk of rest()) {
      await new Promise<void>((resolve, reject) => {
        decoder.write(chunk, (error) => (error ? reject(error) : resolve()));
      });
    }
    decoder.end();
  };
  // Errors of either side arrive through the decoder, whose iterator throws them.
  feed().catch((error: unknown) => decoder.destroy(error as Error));
  try {
    for await (const chunk of decoder) {
      yield chunk as Uint8Array;
      if (reuse) free(chunk as Uint8Array);
    }
  } catch (error) {
    throw isZlibError(error) ? unsafe(`cannot decompress: ${error.message}`, error) : error;
  }
}

/** Gives the memory back at once: a collector sees a few words of each buffer, and would let many megabytes lie about. */
function free({ buffer, byteOffset, byteLength }: Uint8Array): void {
  // The decompressor fills a buffer in parts, and goes on to another only when this one is full.
  const isFull = byteOffset + byteLength === CHUNK_BYTES;
  // One of another size is no buffer of its own, but a part of what all buffers of the process share.
  if (isFull && buffer.byteLength === CHUNK_BYTES && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

function decoderFor(
  head: Buffer,
): ReturnType<typeof createGunzip> | ReturnType<typeof createZstdDecompress> | undefined {
  if (head.length >= 2 && head.readUInt16BE(0) === 0x1f8b) return createGunzip({ chunkSize: CHUNK_BYTES });
  if (head.length < 4) return undefined;
  const magic = head.readUInt32LE(0);
  // A zstd frame, or one to skip (RFC 8878, section 3.1).
  const zstd = magic === 0xfd2fb528 || (magic & 0xfffffff0) >>> 0 === 0x184d2a50;
  return zstd ? createZstdDecompress({ chunkSize: CHUNK_BYTES }) : undefined;
}

function isZlibError(error: unknown): error is Error {
  return (
    error instanceof Error &&
    /^(?:Z_|ZSTD_|ERR_ZSTD|ERR_BUFFER_TOO_LARGE)/.test(String((error as NodeJS.ErrnoException).code))
  );
}
