import { closeSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { getSystemErrorMap } from "node:util";
import { CodedError } from "@xfn/errors";
import koffi from "koffi";

// System calls that Node lacks. A `mount` or `sh` process per call would cost more than crun itself.

const libc = koffi.load(null);
const mountFn = libc.func(
  "int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)",
);
const umount2Fn = libc.func("int umount2(const char *target, int flags)");
const mknodFn = libc.func("int mknod(const char *path, unsigned int mode, uint64_t device)");
const pipe2Fn = libc.func("int pipe2(_Out_ int *fds, int flags)");
const fcntlFn = libc.func("int fcntl(int fd, int command, int value)");
const closeRangeFn = libc.func("int close_range(unsigned int first, unsigned int last, int flags)");
const memfdCreateFn = libc.func("int memfd_create(const char *name, unsigned int flags)");
const prctlFn = libc.func("int prctl(int option, unsigned long value)");
const waitpidFn = libc.func("int waitpid(int pid, _Out_ int *status, int options)");
const spawnFn = libc.func(
  "int posix_spawn(_Out_ int *pid, const char *path, void *actions, void *attributes, const char **argv, const char **envp)",
);
const actionsInit = libc.func("int posix_spawn_file_actions_init(void *actions)");
const actionsDup2 = libc.func("int posix_spawn_file_actions_adddup2(void *actions, int fd, int newfd)");
const actionsDestroy = libc.func("int posix_spawn_file_actions_destroy(void *actions)");
const attributesInit = libc.func("int posix_spawnattr_init(void *attributes)");
const attributesSetFlags = libc.func("int posix_spawnattr_setflags(void *attributes, short flags)");
const attributesSetSigdefault = libc.func("int posix_spawnattr_setsigdefault(void *attributes, void *set)");
const attributesSetSigmask = libc.func("int posix_spawnattr_setsigmask(void *attributes, void *set)");
const attributesSetPgroup = libc.func("int posix_spawnattr_setpgroup(void *attributes, int pgroup)");
const sigfillset = libc.func("int sigfillset(void *set)");
const sigemptyset = libc.func("int sigemptyset(void *set)");
const sigdelset = libc.func("int sigdelset(void *set, int signal)");

/** mount(2) flags, from <sys/mount.h>. */
export const MountFlag = {
  readonly: 1,
  nosuid: 2,
  nodev: 4,
  noexec: 8,
  remount: 32,
  bind: 4096,
  recursive: 16384,
} as const;

const MNT_DETACH = 2;
const S_IFCHR = 0o020000;
const O_CLOEXEC = 0o2000000;
const F_SETPIPE_SZ = 1031;
const F_ADD_SEALS = 1033;
// Seal, shrink, grow, write: crun and runc look for exactly these four.
const ALL_SEALS = 1 | 2 | 4 | 8;
const MFD_CLOEXEC = 1;
const MFD_ALLOW_SEALING = 2;
// Added in Linux 6.3. Older kernels reject the flag and do not need it.
const MFD_EXEC = 16;
const CLOSE_RANGE_CLOEXEC = 4;
const WNOHANG = 1;
const PR_SET_CHILD_SUBREAPER = 36;
const SIGKILL = 9;
const SIGSTOP = 19;
const POSIX_SPAWN_SETPGROUP = 2;
const POSIX_SPAWN_SETSIGDEF = 4;
const POSIX_SPAWN_SETSIGMASK = 8;

/** The largest pipe that an unprivileged user may create (`/proc/sys/fs/pipe-max-size` by default). */
const LARGE_PIPE_BYTES = 1024 * 1024;

/** Errors of a machine that temporarily lacks a resource. */
const TRANSIENT: ReadonlySet<string> = new Set(["EAGAIN", "EMFILE", "ENFILE", "ENOMEM", "ENOSPC"]);

/** A system call that failed. Its code is the name of the error number, such as `ENOENT`. */
export class SystemCallError extends CodedError<string> {
  override readonly name = "SystemCallError";
  override readonly retryable: boolean = TRANSIENT.has(this.code);

  constructor(call: string, errno: number, options?: ErrorOptions) {
    const [code, text] = getSystemErrorMap().get(-errno) ?? [`errno ${errno}`, "unknown error"];
    super(code, `${call}: ${text} (${code})`, options);
  }
}

/** Whether the same operation may succeed shortly after. */
export function isTransient(error: unknown): boolean {
  return error instanceof Error && "code" in error && TRANSIENT.has(String(error.code));
}

function check(result: number, call: string): void {
  if (result !== 0) throw new SystemCallError(call, koffi.errno());
}

/** mount(2). */
export function mount(source: string, target: string, type: string | null, flags: number, data: string | null): void {
  check(mountFn(source, target, type, flags, data) as number, `mount ${type ?? "bind"} on ${target}`);
}

/** umount2(2) with MNT_DETACH: hides the mount at once; processes that still use it keep it. */
export function unmount(target: string): void {
  check(umount2Fn(target, MNT_DETACH) as number, `unmount ${target}`);
}

/**
 * umount2(2) with MNT_DETACH of a mount and everything mounted on it. It runs on another thread, because the kernel
 * waits for a grace period of all processors, which takes milliseconds on a busy machine. `done` is called even if
 * the call fails.
 */
export function unmountTree(target: string, done: () => void): void {
  umount2Fn.async(target, MNT_DETACH, () => done());
}

/** mknod(2) of a character device. */
export function makeDevice(path: string, mode: number, major: number, minor: number): void {
  check(mknodFn(path, S_IFCHR | mode, (major << 8) | minor) as number, `mknod ${path}`);
}

/** The two ends of a pipe. */
export interface Pipe {
  read: number;
  write: number;
}

/** pipe2(2), close-on-exec. */
export function pipe(): Pipe {
  const fds = [0, 0];
  check(pipe2Fn(fds, O_CLOEXEC) as number, "pipe2");
  const [read, write] = fds as [number, number];
  return { read, write };
}

/** Enlarges a pipe to an ordinary user's maximum. Has no effect if the user already has many pipes. */
export function enlargePipe(fd: number): void {
  fcntlFn(fd, F_SETPIPE_SZ, LARGE_PIPE_BYTES);
}

/** Creates an immutable file in memory. @returns its descriptor, which stays open */
export function sealedCopy(name: string, content: Buffer): number {
  const flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  let fd = memfdCreateFn(name, flags | MFD_EXEC) as number;
  // Only for kernels without the flag. Under vm.memfd_noexec (EACCES) a file without the flag could not be executed.
  if (fd < 0 && koffi.errno() === constants.errno.EINVAL) fd = memfdCreateFn(name, flags) as number;
  if (fd < 0) throw new SystemCallError("memfd_create", koffi.errno());
  try {
    writeFileSync(fd, content);
    check(fcntlFn(fd, F_ADD_SEALS, ALL_SEALS) as number, "fcntl(F_ADD_SEALS)");
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

// Larger than required: glibc's posix_spawn_file_actions_t has 80 bytes, posix_spawnattr_t 336, sigset_t 128.
const ACTIONS_BYTES = 256;
const ATTRIBUTES_BYTES = 1024;
const SIGSET_BYTES = 256;

const attributes = Buffer.alloc(ATTRIBUTES_BYTES);
attributesInit(attributes);
{
  const all = Buffer.alloc(SIGSET_BYTES);
  sigfillset(all);
  sigdelset(all, SIGKILL);
  sigdelset(all, SIGSTOP);
  const none = Buffer.alloc(SIGSET_BYTES);
  sigemptyset(none);
  // Node ignores SIGPIPE, which a child would inherit: reset every signal to its default.
  attributesSetSigdefault(attributes, all);
  attributesSetSigmask(attributes, none);
  attributesSetPgroup(attributes, 0);
  attributesSetFlags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

/**
 * posix_spawn(3) shares memory with the parent until exec, so that its cost does not grow with this process. The
 * child gets exactly the three descriptors given, and a new process group.
 */
export function spawn(path: string, argv: string[], env: string[], stdio: [number, number, number]): number {
  // No other descriptor of this process or its libraries may leak into the child (CVE-2024-21626).
  closeRangeFn(3, 0xffffffff, CLOSE_RANGE_CLOEXEC);
  const actions = Buffer.alloc(ACTIONS_BYTES);
  actionsInit(actions);
  try {
    for (const [target, fd] of stdio.entries()) actionsDup2(actions, fd, target);
    const pid = [0];
    const errno = spawnFn(pid, path, actions, attributes, [...argv, null], [...env, null]) as number;
    if (errno !== 0) throw new SystemCallError(`start ${path}`, errno);
    return pid[0] as number;
  } finally {
    actionsDestroy(actions);
  }
}

/** Makes this process the parent of its orphaned descendants (prctl(2)). */
export function becomeSubreaper(): void {
  check(prctlFn(PR_SET_CHILD_SUBREAPER, 1) as number, "prctl(PR_SET_CHILD_SUBREAPER)");
}

/** The end of a child: either `code` or `signal` is set. */
export interface ExitStatus {
  pid: number;
  code: number | null;
  signal: number | null;
}

/** The next child that has ended, including adopted children; undefined if there is none. */
export function reap(): ExitStatus | undefined {
  const status = [0];
  const pid = waitpidFn(-1, status, WNOHANG) as number;
  if (pid <= 0) return undefined;
  const word = status[0] as number;
  const signal = word & 0x7f;
  return signal === 0 ? { pid, code: (word >> 8) & 0xff, signal: null } : { pid, code: null, signal };
}
