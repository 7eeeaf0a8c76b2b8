import { createGunzip, createZstdDecompress } from "node:zlib";
import { unsafe } from "./entry-path.ts";

/** Output chunk of the decompressor. Each chunk costs a round trip to a thread of libuv's pool. */
const CHUNK_BYTES = 256 * 1024;

/**
 * Decompresses gzip, zstd or plain content. The first bytes identify the format, because registries and old tools label
 * layers wrongly. The caller verifies the digest of the result.
 *
 * @param source may reuse one buffer for all its chunks
 * @param options `reuse`: frees the memory of a chunk when the next one is requested, when nothing may read it any more
 * @returns chunks that are valid until the next one is requested
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
  // A pipeline would read ahead, but a chunk is valid only until the next one is requested.
  const feed = async (): Promise<void> => {
    for await (const chunk of rest()) {
      await new Promise<void>((resolve, reject) => {
        decoder.write(chunk, (error) => (error ? reject(error) : resolve()));
      });
    }
    decoder.end();
  };
  // The decoder's iterator throws the errors of both sides.
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

/** Frees the memory immediately: V8 accounts only for a buffer's small handle, and would collect megabytes too late. */
function free({ buffer, byteOffset, byteLength }: Uint8Array): void {
  // The decompressor fills one buffer in several parts before it allocates the next.
  const isFull = byteOffset + byteLength === CHUNK_BYTES;
  // A buffer of another size is a slice of Node's shared pool.
  if (isFull && buffer.byteLength === CHUNK_BYTES && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

function decoderFor(
  head: Buffer,
): ReturnType<typeof createGunzip> | ReturnType<typeof createZstdDecompress> | undefined {
  if (head.length >= 2 && head.readUInt16BE(0) === 0x1f8b) return createGunzip({ chunkSize: CHUNK_BYTES });
  if (head.length < 4) return undefined;
  const magic = head.readUInt32LE(0);
  // A zstd frame or a skippable frame (RFC 8878, section 3.1).
  const zstd = magic === 0xfd2fb528 || (magic & 0xfffffff0) >>> 0 === 0x184d2a50;
  return zstd ? createZstdDecompress({ chunkSize: CHUNK_BYTES }) : undefined;
}

function isZlibError(error: unknown): error is Error {
  return (
    error instanceof Error &&
    /^(?:Z_|ZSTD_|ERR_ZSTD|ERR_BUFFER_TOO_LARGE)/.test(String((error as NodeJS.ErrnoException).code))
  );
}
