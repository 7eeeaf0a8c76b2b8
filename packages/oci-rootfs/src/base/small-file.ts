import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { ImageError } from "./errors.ts";

/** Records are JSON that this package wrote, and may list many implied paths. A larger file is not one of them. */
const MAX_RECORD_BYTES = 256 * 1024 * 1024;

/** Reads a JSON record; undefined if it is missing or damaged, so that the caller writes it again. */
export function readRecord(path: string): unknown {
  try {
    return JSON.parse(readSmallFile(path, MAX_RECORD_BYTES).toString("utf8"));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR" || error instanceof SyntaxError) return undefined;
    throw ImageError.from(error);
  }
}

/**
 * Reads a regular file of at most `limit` bytes. Never blocks on a FIFO, which a hostile layout or layer may contain.
 */
export function readSmallFile(path: string | Buffer, limit: number, flags = 0): Buffer {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | flags);
  try {
    return readOpenFile(descriptor, String(path), limit);
  } finally {
    closeSync(descriptor);
  }
}

/** Reads an open regular file of at most `limit` bytes. @param path for messages */
export function readOpenFile(descriptor: number, path: string, limit: number): Buffer {
  const stats = fstatSync(descriptor);
  if (!stats.isFile()) throw new ImageError("StoreFailed", `${path} is not a regular file`);
  if (stats.size > limit) throw new ImageError("TooLarge", `${path} is ${stats.size} bytes, more than ${limit}`);
  const buffer = Buffer.allocUnsafe(stats.size);
  let length = 0;
  while (length < buffer.length) {
    const count = readSync(descriptor, buffer, length, buffer.length - length, length);
    if (count === 0) break;
    length += count;
  }
  return buffer.subarray(0, length);
}
