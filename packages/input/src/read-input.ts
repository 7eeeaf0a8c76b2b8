import { closeSync, createReadStream, openSync, readSync, type Stats, statSync } from "node:fs";
import type { Readable } from "node:stream";
import { messageOf } from "@xfn/errors";
import { MAX_TEXT_BYTES } from "@xfn/json";
import { oneLine } from "@xfn/program/terminal-text";
import { InputError, isInputError } from "./input-error.ts";

/** The argument that means stdin. */
export const STDIN = "-";

/** The name of a file in messages. */
export function sourceName(path: string): string {
  return path === STDIN ? "stdin" : oneLine(path, 300);
}

/**
 * Reads a file, or stdin for `-`, up to the limit of a document. Reads other files than regular ones like a pipe
 * (`<(command)`).
 *
 * @throws InputError that names the file
 */
export async function readInput(path: string): Promise<Uint8Array> {
  if (path === STDIN) {
    if (process.stdin.isTTY) process.stderr.write("xfn: reading stdin from the terminal; Ctrl-D ends it\n");
    return readAll(process.stdin, path);
  }
  const stats = statInput(path);
  if (stats.isDirectory()) throw new InputError(`${sourceName(path)} is a folder; a file is needed here`);
  return readAll(stats.isFile() ? chunksOf(path) : createReadStream(path), path);
}

/** Like `statSync`, but throws an {@link InputError}. */
export function statInput(path: string): Stats {
  try {
    return statSync(path);
  } catch (error) {
    throw unreadable(path, error);
  }
}

const CHUNK_BYTES = 64 * 1024;

/** The content of a regular file, without the modules of Node that a stream loads: they take 4 ms. */
function* chunksOf(path: string): Generator<Buffer> {
  const file = openSync(path, "r");
  try {
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const length = readSync(file, chunk);
      if (length === 0) return;
      yield chunk.subarray(0, length);
    }
  } finally {
    closeSync(file);
  }
}

async function readAll(source: Readable | Iterable<Buffer>, path: string): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of source as Iterable<Buffer> | AsyncIterable<Buffer>) {
      size += chunk.length;
      // The parser has the same limit, but would see it only with all of the file in memory; /dev/zero never ends.
      if (size > MAX_TEXT_BYTES) {
        throw new InputError(`${sourceName(path)} is larger than the limit of ${MAX_TEXT_BYTES / 1024 / 1024} MiB`);
      }
      chunks.push(chunk);
    }
  } catch (error) {
    throw isInputError(error) ? error : unreadable(path, error);
  }
  return Buffer.concat(chunks, size);
}

/** Words an error of the operating system about a file. */
export function unreadable(path: string, error: unknown): Error {
  const code = (error as NodeJS.ErrnoException).code;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: "there is no such file",
    EACCES: "permission denied",
    ELOOP: "its symbolic links form a cycle",
    ENAMETOOLONG: "the name is too long",
    ENOTDIR: "part of its path is not a folder",
  };
  const reason = reasons[code ?? ""] ?? messageOf(error);
  return new InputError(`cannot read ${sourceName(path)}: ${reason}`, { cause: error });
}
