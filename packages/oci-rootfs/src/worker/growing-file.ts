import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { ImageError } from "../base/errors.ts";

/** The buffer of a reader: large enough to amortise a system call, small enough for several layers at a time. */
const READ_BYTES = 256 * 1024;

const VERSION = 0;
const STATE = 1;
/** Zero means that the file may still grow. */
const COMPLETE = 1;
const ABANDONED = 2;

/**
 * The size of a file that is being written, in memory that threads share. One thread pulls a layer into the file, and
 * another unpacks it concurrently. The file is the buffer between them, so that the writer never waits for the reader.
 */
export interface GrowingFile {
  readonly path: string;
  /** Int32: a version that increases with each change, and the state. */
  readonly flags: SharedArrayBuffer;
  /** BigInt64: the bytes written so far. */
  readonly size: SharedArrayBuffer;
}

/** A new, empty file. */
export function growingFile(path: string): GrowingFile {
  return { path, flags: new SharedArrayBuffer(8), size: new SharedArrayBuffer(8) };
}

/** An existing, complete file. */
export function completeFile(path: string): GrowingFile {
  const file = growingFile(path);
  const descriptor = openSync(path, "r");
  try {
    grow(file, fstatSync(descriptor).size);
  } finally {
    closeSync(descriptor);
  }
  complete(file);
  return file;
}

/** Sets the number of bytes written so far. */
export function grow(file: GrowingFile, bytes: number): void {
  Atomics.store(new BigInt64Array(file.size), 0, BigInt(bytes));
  wake(file);
}

/** Marks the end of the file. */
export function complete(file: GrowingFile): void {
  Atomics.store(new Int32Array(file.flags), STATE, COMPLETE);
  wake(file);
}

/** Makes readers fail, because the writer has failed or the result is no longer needed. */
export function abandon(file: GrowingFile): void {
  Atomics.store(new Int32Array(file.flags), STATE, ABANDONED);
  wake(file);
}

function wake({ flags }: GrowingFile): void {
  const view = new Int32Array(flags);
  Atomics.add(view, VERSION, 1);
  Atomics.notify(view, VERSION);
}

/**
 * Reads the file to its end while it grows. A chunk is valid until the next one is requested.
 *
 * @throws ImageError Aborted if the file was abandoned
 */
export async function* readGrowing(file: GrowingFile): AsyncGenerator<Uint8Array, void> {
  const flags = new Int32Array(file.flags);
  const size = new BigInt64Array(file.size);
  const descriptor = openSync(file.path, "r");
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  try {
    for (let position = 0; ; ) {
      const version = Atomics.load(flags, VERSION);
      const state = Atomics.load(flags, STATE);
      if (state === ABANDONED) throw new ImageError("Aborted", "the pull was aborted");
      const available = Number(Atomics.load(size, 0)) - position;
      if (available > 0) {
        const count = readSync(descriptor, buffer, 0, Math.min(available, READ_BYTES), position);
        // The file is too short. The verification of its size reports that.
        if (count === 0) return;
        position += count;
        yield buffer.subarray(0, count);
      } else if (state === COMPLETE) {
        return;
      } else {
        await Atomics.waitAsync(flags, VERSION, version).value;
      }
    }
  } finally {
    closeSync(descriptor);
  }
}
