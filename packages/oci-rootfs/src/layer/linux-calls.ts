import { createRequire } from "node:module";
import { constants } from "node:os";

/** The system calls that node:fs lacks. Loaded only when a layer needs one: most need none. */
export interface LinuxCalls {
  /** A character device 0/0: overlayfs' whiteout. Needs no privilege on Linux >= 5.8. */
  makeWhiteout(path: string | Buffer): void;
  makeFifo(path: string | Buffer, mode: number): void;
  /** `user.overlay.opaque` = "y": overlayfs (mounted with `userxattr`) shows nothing from below this directory. */
  markOpaque(path: string | Buffer): void;
}

const S_IFCHR = 0o020000;
const S_IFIFO = 0o010000;

let calls: LinuxCalls | undefined;

export function linuxCalls(): LinuxCalls {
  calls ??= load();
  return calls;
}

function load(): LinuxCalls {
  const koffi = createRequire(import.meta.url)("koffi") as typeof import("koffi");
  // Null is this process: Node brings the C library along.
  const libc = koffi.load(null);
  const mknod = libc.func("int mknod(const uint8_t *path, uint32_t mode, uint64_t dev)") as (
    path: Buffer,
    mode: number,
    dev: number,
  ) => number;
  const setxattr = libc.func(
    "int setxattr(const uint8_t *path, const char *name, const uint8_t *value, size_t size, int flags)",
  ) as (path: Buffer, name: string, value: Buffer, size: number, flags: number) => number;
  const check = (result: number, syscall: string, path: string | Buffer): void => {
    if (result === 0) return;
    const errno = koffi.errno();
    const code = Object.entries(constants.errno).find(([, value]) => value === errno)?.[0] ?? `errno ${errno}`;
    throw Object.assign(new Error(`${code}: ${syscall} '${String(path)}'`), { code, errno: -errno, syscall });
  };
  return {
    makeWhiteout: (path) => check(mknod(cString(path), S_IFCHR, 0), "mknod", path),
    makeFifo: (path, mode) => check(mknod(cString(path), S_IFIFO | mode, 0), "mknod", path),
    markOpaque: (path) =>
      check(setxattr(cString(path), "user.overlay.opaque", Buffer.from("y"), 1, 0), "setxattr", path),
  };
}

function cString(path: string | Buffer): Buffer {
  return Buffer.concat([Buffer.isBuffer(path) ? path : Buffer.from(path), Buffer.of(0)]);
}
