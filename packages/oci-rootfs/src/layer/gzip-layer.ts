import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip, type Gzip } from "node:zlib";

/**
 * Byte 9 of a gzip member identifies the operating system (RFC 1952). "Unknown" gives the same digest on each of
 * them.
 */
const GZIP_OS_BYTE = 9;
const GZIP_OS_UNKNOWN = 255;

/** A compressor whose output depends only on its input. Another level or memLevel would change the digest. */
export function layerGzip(): Gzip {
  return createGzip({ level: 6, memLevel: 9 });
}

/** Hashes a stream and normalises its gzip header. `digest` and `size` are final after the end of the stream. */
export class PackedBytes extends Transform {
  readonly #hash = createHash("sha256");
  readonly #gzip: boolean;
  size = 0;

  constructor(gzip: boolean) {
    super();
    this.#gzip = gzip;
  }

  override _transform(chunk: Buffer, _encoding: unknown, done: (error: null, chunk: Buffer) => void): void {
    if (this.#gzip && this.size === 0 && chunk.length > GZIP_OS_BYTE) chunk[GZIP_OS_BYTE] = GZIP_OS_UNKNOWN;
    this.size += chunk.length;
    this.#hash.update(chunk);
    done(null, chunk);
  }

  digest(): string {
    return `sha256:${this.#hash.digest("hex")}`;
  }
}

/** Compresses a layer's tar archive into a new file. */
export async function gzipLayer(
  archive: AsyncIterable<Uint8Array>,
  path: string,
): Promise<{ digest: string; size: number }> {
  const packed = new PackedBytes(true);
  await pipeline(archive, layerGzip(), packed, createWriteStream(path, { flags: "wx", mode: 0o600 }));
  return { digest: packed.digest(), size: packed.size };
}
