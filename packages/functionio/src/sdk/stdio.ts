import { readSync, writeSync } from "node:fs";
import { MAX_TEXT_BYTES } from "@xfn/json/sdk";

const STDIN = 0;
const STDOUT = 1;
/** Milliseconds to sleep before reading again from a pipe that another process made non-blocking. */
const RETRY_MS = 1;
const FIRST_BUFFER = 64 * 1024;

/**
 * Reads all of stdin synchronously: streams would add 5 ms to the start of a process.
 *
 * @throws {Error} if it is larger than 100 MiB
 */
export function readStdin(): Uint8Array {
  let buffer = Buffer.allocUnsafe(FIRST_BUFFER);
  let length = 0;
  for (;;) {
    if (length === buffer.length) {
      if (length > MAX_TEXT_BYTES) throw new Error(`stdin is larger than ${MAX_TEXT_BYTES} bytes`);
      const larger = Buffer.allocUnsafe(Math.min(length * 2, MAX_TEXT_BYTES + 1));
      buffer.copy(larger, 0, 0, length);
      buffer = larger;
    }
    const read = retry(() => readSync(STDIN, buffer, length, buffer.length - length, null));
    if (read === 0) return buffer.subarray(0, length);
    length += read;
  }
}

/** Writes all of a text to stdout, synchronously. */
export function writeStdout(text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += retry(() => writeSync(STDOUT, bytes, at, bytes.length - at));
}

function retry(operation: () => number): number {
  for (;;) {
    try {
      return operation();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // On Windows, a closed stdin reports an end of file.
      if (code === "EOF") return 0;
      if (code !== "EAGAIN" && code !== "EINTR") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}
