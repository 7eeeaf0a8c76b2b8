import { randomFillSync } from "node:crypto";
import { ExitError, type StandardStreams } from "./standard-streams.ts";

/** The name of the module that provides the functions. */
export const WASI_MODULE = "wasi_snapshot_preview1";

/**
 * Error numbers of WASI preview 1
 * (https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md#-errno-variant).
 */
const SUCCESS = 0;
const BAD_DESCRIPTOR = 8;
const BAD_ADDRESS = 21;
const INVALID = 28;
const NOT_SUPPORTED = 58;
const NOT_SEEKABLE = 70;

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

const REALTIME = 0;
const MONOTONIC = 1;

/** Rights to read and to write a descriptor. */
const RIGHT_READ = 1n << 1n;
const RIGHT_WRITE = 1n << 6n;

/** Sizes of `iovec`, `fdstat`, `subscription` and `event`. */
const VECTOR_BYTES = 8;
const FDSTAT_BYTES = 24;
const SUBSCRIPTION_BYTES = 48;
const EVENT_BYTES = 32;

/** Programs use a few. More vectors would occupy the host instead of the module. */
const MAX_VECTORS = 1024;
const MAX_SUBSCRIPTIONS = 1024;

/** The thread waits on this to pause. Nothing notifies it, so each wait ends at its timeout. */
const PAUSE = new Int32Array(new SharedArrayBuffer(4));

/** A function of the host, as a module imports it. */
export type HostFunction = (...values: never[]) => number;

/** The memory of an instance. It has a new buffer after it grows. */
export interface InstanceMemory {
  readonly buffer: ArrayBuffer;
}

/**
 * The functions of WASI preview 1 for one instance: standard streams, clocks, random bytes and exit. Calls for files,
 * sockets, arguments and environment variables fail as on a system without any.
 *
 * @param memory returns the memory of the instance, once it exists
 */
export function wasiFunctions(streams: StandardStreams, memory: () => InstanceMemory): Map<string, HostFunction> {
  const bytes = (): Uint8Array => new Uint8Array(memory().buffer);
  const view = (): DataView => new DataView(memory().buffer);
  const exit: { thrown?: ExitError } = {};

  const vectors = (at: number, count: number): Uint8Array[] => {
    if (count > MAX_VECTORS) throw new RangeError("too many vectors");
    const [data, all] = [view(), bytes()];
    return Array.from({ length: count }, (_, index) => {
      const start = data.getUint32(at + index * VECTOR_BYTES, true);
      const length = data.getUint32(at + index * VECTOR_BYTES + 4, true);
      if (start + length > all.length) throw new RangeError("a vector outside the memory");
      return all.subarray(start, start + length);
    });
  };

  const nothing = (count: number, size: number): number => {
    const data = view();
    data.setUint32(count, 0, true);
    data.setUint32(size, 0, true);
    return SUCCESS;
  };

  const functions = {
    args_sizes_get: nothing,
    args_get: () => SUCCESS,
    environ_sizes_get: nothing,
    environ_get: () => SUCCESS,
    clock_res_get(clock: number, at: number) {
      if (clock !== REALTIME && clock !== MONOTONIC) return INVALID;
      view().setBigUint64(at, clock === REALTIME ? 1_000_000n : 1n, true);
      return SUCCESS;
    },
    clock_time_get(clock: number, _precision: bigint, at: number) {
      if (clock !== REALTIME && clock !== MONOTONIC) return INVALID;
      view().setBigUint64(at, now(clock), true);
      return SUCCESS;
    },
    fd_read(fd: number, at: number, count: number, result: number) {
      if (fd !== STDIN) return BAD_DESCRIPTOR;
      let read = 0;
      for (const vector of vectors(at, count)) {
        const part = streams.read(vector);
        read += part;
        if (part < vector.length) break;
      }
      view().setUint32(result, read, true);
      return SUCCESS;
    },
    fd_write(fd: number, at: number, count: number, result: number) {
      if (fd !== STDOUT && fd !== STDERR) return BAD_DESCRIPTOR;
      let written = 0;
      for (const vector of vectors(at, count)) {
        if (fd === STDOUT) streams.write(vector);
        else streams.writeError(vector);
        written += vector.length;
      }
      view().setUint32(result, written, true);
      return SUCCESS;
    },
    fd_fdstat_get(fd: number, at: number) {
      if (!isStandard(fd)) return BAD_DESCRIPTOR;
      bytes().fill(0, at, at + FDSTAT_BYTES);
      view().setBigUint64(at + 8, fd === STDIN ? RIGHT_READ : RIGHT_WRITE, true);
      return SUCCESS;
    },
    fd_fdstat_set_flags: (fd: number) => (isStandard(fd) ? SUCCESS : BAD_DESCRIPTOR),
    fd_close: (fd: number) => (isStandard(fd) ? SUCCESS : BAD_DESCRIPTOR),
    ...Object.fromEntries(
      POSITIONS.map((name) => [name, (fd: number) => (isStandard(fd) ? NOT_SEEKABLE : BAD_DESCRIPTOR)]),
    ),
    poll_oneoff: (from: number, to: number, count: number, result: number) => poll(view(), from, to, count, result),
    proc_exit(code: number): number {
      exit.thrown ??= new ExitError(code);
      throw exit.thrown;
    },
    proc_raise: () => NOT_SUPPORTED,
    sched_yield: () => SUCCESS,
    random_get(at: number, length: number) {
      if (at + length > bytes().length) return BAD_ADDRESS;
      randomFillSync(bytes().subarray(at, at + length));
      return SUCCESS;
    },
  } satisfies Record<string, HostFunction>;

  const all = new Map<string, HostFunction>(WITHOUT_DESCRIPTORS.map((name) => [name, () => BAD_DESCRIPTOR]));
  for (const [name, one] of Object.entries<HostFunction>(functions)) all.set(name, guarded(one, exit));
  return all;
}

/** The functions that change the position in a file. */
const POSITIONS: readonly string[] = ["seek", "tell"].map(ofDescriptor);

/** The functions that need a file, a directory or a socket, none of which exist here. */
const WITHOUT_DESCRIPTORS: readonly string[] = [
  ...["advise", "allocate", "datasync", "fdstat_set_rights", "filestat_get", "filestat_set_size"].map(ofDescriptor),
  ...["filestat_set_times", "pread", "prestat_get", "prestat_dir_name", "pwrite", "readdir", "renumber", "sync"].map(
    ofDescriptor,
  ),
  ...["create_directory", "filestat_get", "filestat_set_times", "link", "open", "readlink"].map(ofPath),
  ...["remove_directory", "rename", "symlink", "unlink_file"].map(ofPath),
  ...["accept", "recv", "send", "shutdown"].map((name) => `sock_${name}`),
];

function ofDescriptor(name: string): string {
  return `fd_${name}`;
}

function ofPath(name: string): string {
  return `path_${name}`;
}

/** The names of all functions. */
export const WASI_NAMES: ReadonlySet<string> = new Set(
  wasiFunctions(undefined as never, () => {
    throw new TypeError("there is no memory");
  }).keys(),
);

/** Ends a module that caught its own exit. Reports an address outside the memory as an error number, as POSIX does. */
function guarded(one: HostFunction, exit: { readonly thrown?: ExitError }): HostFunction {
  return (...values) => {
    if (exit.thrown !== undefined) throw exit.thrown;
    try {
      return one(...values.map(unsigned));
    } catch (error) {
      if (error instanceof RangeError) return BAD_ADDRESS;
      throw error;
    }
  };
}

/** Addresses and lengths beyond 2 GiB arrive as negative numbers. */
function unsigned(value: never): never {
  return (typeof value === "number" ? value >>> 0 : value) as never;
}

function isStandard(fd: number): boolean {
  return fd === STDIN || fd === STDOUT || fd === STDERR;
}

/** The time of a clock, in nanoseconds. */
function now(clock: number): bigint {
  return clock === REALTIME ? BigInt(Date.now()) * 1_000_000n : process.hrtime.bigint();
}

/** Waits for the earliest clock. Standard streams are always ready. */
function poll(data: DataView, from: number, to: number, count: number, result: number): number {
  if (count === 0 || count > MAX_SUBSCRIPTIONS) return INVALID;
  const subscriptions = Array.from({ length: count }, (_, index) => {
    const at = from + index * SUBSCRIPTION_BYTES;
    const userData = data.getBigUint64(at, true);
    const type = data.getUint8(at + 8);
    return { userData, type, waitNs: type === 0 ? clockWait(data, at + 16) : 0n };
  });
  const waitNs = subscriptions.reduce((least, one) => (one.waitNs < least ? one.waitNs : least), 1n << 62n);
  if (waitNs > 0n) Atomics.wait(PAUSE, 0, 0, Number(waitNs) / 1e6);
  let events = 0;
  for (const one of subscriptions) {
    if (one.waitNs > waitNs) continue;
    const at = to + events * EVENT_BYTES;
    for (let offset = 0; offset < EVENT_BYTES; offset += 8) data.setBigUint64(at + offset, 0n, true);
    data.setBigUint64(at, one.userData, true);
    data.setUint8(at + 10, one.type);
    if (one.type !== 0) data.setBigUint64(at + 16, 1n, true);
    events += 1;
  }
  data.setUint32(result, events, true);
  return SUCCESS;
}

/** Nanoseconds until a clock's time. */
function clockWait(data: DataView, at: number): bigint {
  const clock = data.getUint32(at, true);
  const timeout = data.getBigUint64(at + 8, true);
  const isAbsolute = (data.getUint16(at + 24, true) & 1) === 1;
  const wait = isAbsolute ? timeout - now(clock) : timeout;
  return wait < 0n ? 0n : wait;
}
