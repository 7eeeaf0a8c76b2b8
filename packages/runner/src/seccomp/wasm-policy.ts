import { constants } from "node:os";
import { seccompBytes } from "./bpf.ts";
import type { Policy } from "./policy.ts";

const words = (text: string): string[] => text.trim().split(/\s+/);

/**
 * The system calls of a process that runs a WebAssembly module. It reads and writes open descriptors, and manages its
 * memory and existing threads. It does not open files, create sockets, or start threads or programs.
 */
const wasmPolicy = (pid: number): Policy => ({
  allowed: words(`
    read write readv writev
    mmap munmap mprotect mremap madvise brk pkey_alloc pkey_free pkey_mprotect
    futex sched_yield membarrier rseq restart_syscall
    rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack getpid gettid
    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday getrandom
    epoll_wait epoll_pwait epoll_pwait2 poll ppoll
    getrusage sysinfo sched_getaffinity getcpu
    exit exit_group
  `),
  denied: words(`
    open openat openat2 creat socket socketpair connect clone fork vfork execve execveat ptrace prlimit64 prctl ioctl
    kill process_vm_readv process_vm_writev bpf mount unshare setns
  `),
  conditional: [
    // V8 and abort(3) signal threads of their own process. Processes of other modules have the same user.
    { name: "tgkill", cases: [[{ argument: 0, equals: pid }]], errno: constants.errno.EPERM },
  ],
});

/** Returns the filter for a process id; undefined if the kernel has no seccomp, or on other architectures. */
export function wasmFilter(): ((pid: number) => Buffer) | undefined {
  const compile = (pid: number): Buffer | undefined =>
    process.platform === "linux" ? seccompBytes(process.arch, wasmPolicy(pid)) : undefined;
  return compile(0) === undefined ? undefined : (pid) => compile(pid) ?? Buffer.alloc(0);
}
