import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { ImageError } from "../base/errors.ts";

/** Bytes read at once: enough that a system call does not count, little enough for several layers at a time. */
const READ_BYTES = 256 * 1024;

const VERSION = 0;
const STATE = 1;
/** Zero means that more may come. */
const COMPLETE = 1;
const GIVEN_UP = 2;

/**
 * How far a file has been written, in memory that threads share: one fetches a layer into a file, another unpacks it from
 * there as it comes. The file is the buffer between them, so neither has to hold anything or to wait for the other.
 */
export interface GrowingFile {
  readonly path: string;
  /** Int32: a counter that changes with everything else, and the state. */
  readonly flags: SharedArrayBuffer;
  /** BigInt64: bytes that are there. */
  readonly size: SharedArrayBuffer;
}

/** A file that nothing has been written to. */
export function growingFile(path: string): GrowingFile {
  return { path, flags: new SharedArrayBuffer(8), size: new SharedArrayBuffer(8) };
}

/** A file that is there already. */
export function wholeFile(path: string): GrowingFile {
  const file = growingFile(path);
  const descriptor = openSync(path, "r");
  try {
    grown(file, fstatSync(descriptor).size);
  } finally {
    closeSync(descriptor);
  }
  completed(file);
  return file;
}

/** So many bytes are there now. */
export function grown(file: GrowingFile, bytes: number): void {
  Atomics.store(new BigInt64Array(file.size), 0, BigInt(bytes));
  wake(file);
}

/** That was all. */
export function completed(file: GrowingFile): void {
  Atomics.store(new Int32Array(file.flags), STATE, COMPLETE);
  wake(file);
}

/** Nobody needs it any more: whoever reads it stops. */
export function givenUp(file: GrowingFile): void {
  Atomics.store(new Int32Array(file.flags), STATE, GIVEN_UP);
  wake(file);
}

function wake({ flags }: GrowingFile): void {
  const view = new Int32Array(flags);
  Atomics.add(view, VERSION, 1);
  Atomics.notify(view, VERSION);
}

/**
 * Reads along, to the end. A chunk is valid until the next one is asked for.
 *
 * @throws ImageError Aborted where the file was given up
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
      if (state === GIVEN_UP) throw new ImageError("Aborted", "given up");
      const there = Number(Atomics.load(size, 0)) - position;
      if (there > 0) {
        const count = readSync(descriptor, buffer, 0, Math.min(there, READ_BYTES), position);
        // Shorter than it was said to be: the one who checks the size will say so.
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
