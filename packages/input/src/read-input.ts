import { createReadStream, type Stats, statSync } from "node:fs";
import type { Readable } from "node:stream";
import { MAX_TEXT_BYTES } from "@xfn/functionio";
import { oneLine } from "@xfn/program/terminal-text";
import { InputError, isInputError } from "./input-error.ts";

/** stdin, as an argument. */
export const STDIN = "-";

/** A file as messages name it. */
export function sourceName(path: string): string {
  return path === STDIN ? "stdin" : oneLine(path, 300);
}

/**
 * Reads a file, or stdin for `-`, up to the size that any document may have. What is no regular file is read like a pipe
 * (`<(command)`).
 *
 * @throws InputError that names the file
 */
export async function readInput(path: string): Promise<Uint8Array> {
  if (path === STDIN) return readAll(process.stdin, path);
  if (statInput(path).isDirectory()) throw new InputError(`${sourceName(path)} is a folder; a file is needed here`);
  return readAll(createReadStream(path), path);
}

/** `stat`, with an error for people. */
export function statInput(path: string): Stats {
  try {
    return statSync(path);
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function readAll(stream: Readable, path: string): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length;
      // The reader would refuse it too, but only after all of it was in memory; /dev/zero has no end.
      if (size > MAX_TEXT_BYTES) {
        throw new InputError(
          `${sourceName(path)} is larger than ${MAX_TEXT_BYTES / 1024 / 1024} MiB, the most that is read`,
        );
      }
      chunks.push(chunk);
    }
  } catch (error) {
    throw isInputError(error) ? error : unreadable(path, error);
  }
  return Buffer.concat(chunks, size);
}

/** What the operating system says about a file, in words. */
export function unreadable(path: string, error: unknown): Error {
  const code = (error as NodeJS.ErrnoException).code;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: "there is no such file",
    EACCES: "permission denied",
    ELOOP: "its symbolic links lead in a circle",
    ENAMETOOLONG: "the name is too long",
    ENOTDIR: "a part of its path is not a folder",
  };
  const reason = reasons[code ?? ""] ?? (error instanceof Error ? error.message : String(error));
  return new InputError(`cannot read ${sourceName(path)}: ${reason}`, { cause: error });
}
