import { createRequire } from "node:module";
import { constants } from "node:os";

/** System calls that node:fs lacks. Most layers need none, so they are loaded on demand. */
export interface LinuxCalls {
  /** Creates a character device 0/0, the whiteout of overlayfs. Needs no privilege since Linux 5.8. */
  makeWhiteout(path: string | Buffer): void;
  makeFifo(path: string | Buffer, mode: number): void;
  /** Sets `user.overlay.opaque` to "y": overlayfs (mounted with `userxattr`) hides the lower directories. */
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
  // Null means this process, which has loaded the C library.
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
