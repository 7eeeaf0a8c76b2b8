import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "@xfn/errors";
import { isObject, type JsonObject } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { RecordingError } from "./recording-error.ts";
import { END, MAX_FILE_BYTES } from "./recording-files.ts";

/**
 * Reads a file of a recording. Follows no link, and waits for no pipe: a downloaded recording can have either.
 *
 * @throws {RecordingError} `Unreadable`, `TooLarge`, `Invalid`
 */
export function readFile(folder: string, name: string): JsonObject {
  const bytes = readBytes(join(folder, name), name);
  if (!bytes.subarray(-END.length - 1).equals(Buffer.from(`\n${END}`)))
    throw invalid(`${name} is cut off: its last line is not "...". Record the run again`);
  let value: unknown;
  try {
    value = readDocuments(bytes, { source: name })[0]?.value;
  } catch (cause) {
    throw invalid(`${name} cannot be read: ${messageOf(cause)}`, cause);
  }
  if (isObject(value)) return value;
  throw invalid(`${name} is not an object`);
}

function readBytes(path: string, name: string): Buffer {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown error";
    const what =
      code === "ELOOP" ? `${name} is a symbolic link, which is not followed` : `cannot read ${name} (${code})`;
    throw new RecordingError("Unreadable", what, { cause });
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new RecordingError("Unreadable", `${name} is not a regular file`);
    if (stats.size > MAX_FILE_BYTES)
      throw new RecordingError("TooLarge", `${name} has ${stats.size} bytes; at most ${MAX_FILE_BYTES} are read`);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

function invalid(message: string, cause?: unknown): RecordingError {
  return new RecordingError("Invalid", message, { cause });
}
