// Older releases of Node lack zstd, and must get as far as the message of `base/require-node.ts`.
import zlib, { constants, createGunzip } from "node:zlib";
import { unsafe } from "./entry-path.ts";
import { FrameBudget } from "./frame-budget.ts";
import { WindowBudget, type WindowBudgetOptions } from "./window-budget.ts";
import { type FramePart, isZstd, ZstdFrames } from "./zstd-frames.ts";

/** Output chunk of the decompressor. Each chunk costs a round trip to a thread of libuv's pool. */
const CHUNK_BYTES = 256 * 1024;

/** The largest window that libzstd supports, of `zstd --long=31`. `WindowBudget` bounds the memory that it takes. */
const MAX_WINDOW_LOG = 31;

export interface DecompressOptions extends WindowBudgetOptions {
  /** Frees the memory of a chunk when the next one is requested, when nothing may read it any more. */
  readonly reuse?: boolean | undefined;
}

/**
 * Decompresses gzip, zstd or plain content. The first bytes identify the format, because registries and old tools label
 * layers wrongly. The caller verifies the digest of the result.
 *
 * @param source may reuse one buffer for all its chunks
 * @returns chunks that are valid until the next one is requested
 * @throws ImageError UnsafeLayer, TooLarge, or the error of the source
 */
export async function* decompressed(
  source: AsyncIterable<Uint8Array>,
  { reuse = false, ...memory }: DecompressOptions = {},
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
  const found = decoderFor(head);
  if (found === undefined) {
    yield* rest();
    return;
  }
  const { decoder, frames } = found;
  // A decoder can fail after its last chunk. Without a listener, that error would end the process.
  decoder.on("error", () => undefined);
  const windows = new WindowBudget(memory);
  const frameBudget = new FrameBudget();
  // A pipeline would read ahead, but a chunk is valid only until the next one is requested.
  const feed = async (): Promise<void> => {
    for await (const chunk of rest()) {
      for (const part of frames?.parts(chunk) ?? [whole(chunk)]) {
        windows.enter(part);
        if (frames !== undefined) frameBudget.check(frames.count);
        await new Promise<void>((resolve, reject) => {
          decoder.write(part.bytes, (error) => (error ? reject(error) : resolve()));
        });
      }
    }
    decoder.end(frames?.end());
  };
  // The decoder's iterator throws the errors of both sides.
  const fed = feed().catch((error: unknown) => {
    decoder.destroy(error as Error);
    throw error;
  });
  fed.catch(() => undefined);
  try {
    for await (const chunk of decoder) {
      windows.add((chunk as Uint8Array).length);
      frameBudget.add((chunk as Uint8Array).length);
      yield chunk as Uint8Array;
      if (reuse) free(chunk as Uint8Array);
    }
    // Content after the last chunk can be damaged.
    await fed;
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

interface Decoder {
  readonly decoder: ReturnType<typeof createGunzip> | ReturnType<typeof zlib.createZstdDecompress>;
  /** Splits the packed bytes; undefined for gzip, whose members node:zlib joins. */
  readonly frames?: ZstdFrames;
}

function decoderFor(head: Buffer): Decoder | undefined {
  if (head.length >= 2 && head.readUInt16BE(0) === 0x1f8b) return { decoder: createGunzip({ chunkSize: CHUNK_BYTES }) };
  if (head.length < 4 || !isZstd(head.readUInt32LE(0))) return undefined;
  const params = { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG };
  return { decoder: zlib.createZstdDecompress({ chunkSize: CHUNK_BYTES, params }), frames: new ZstdFrames() };
}

function whole(bytes: Uint8Array): FramePart {
  return { bytes, frame: 1, windowBytes: 0 };
}

function isZlibError(error: unknown): error is Error {
  return (
    error instanceof Error &&
    /^(?:Z_|ZSTD_|ERR_ZSTD|ERR_BUFFER_TOO_LARGE)/.test(String((error as NodeJS.ErrnoException).code))
  );
}
