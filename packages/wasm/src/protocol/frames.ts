/**
 * The messages between the runner and the process of a module: a kind of one byte, a length of four bytes
 * (little-endian), and that many bytes.
 */

/** To the process, first: the compiled seccomp filter, or no bytes if there is none. */
export const FILTER = 1;
/** To the process: the module. */
export const MODULE = 2;
/** To the process, for each call: its input. */
export const INPUT = 3;
/** From the process: the module is compiled. JSON: {@link Ready}. */
export const READY = 4;
/** From the process: the module cannot be a function. The reason as text; the process ends. */
export const INVALID = 5;
/** From the process: an instance waits for its input. */
export const WAITING = 6;
/** From the process: the next part of an instance's stderr. */
export const STDERR = 7;
/** From the process, at the end of a call: its stdout. */
export const OUTPUT = 8;
/** From the process, at the end of a call: JSON, {@link Ended}. */
export const ENDED = 9;

/** The confinement of a process. */
export interface Ready {
  /** Whether the kernel filters the system calls. Otherwise only Node's permission model confines the process. */
  readonly filtered: boolean;
}

/** How a call ended without an output. */
export interface Ended {
  readonly reason: "exit" | "trap" | "output-too-large";
  /** The exit code, for `exit`. */
  readonly code?: number;
  /** The engine's message, for `trap`. */
  readonly message?: string;
  /** The final size of the memory, in bytes. */
  readonly memoryBytes: number;
}

export const HEADER_BYTES = 5;

export function header(kind: number, length: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.writeUInt8(kind, 0);
  bytes.writeUInt32LE(length, 1);
  return bytes;
}
