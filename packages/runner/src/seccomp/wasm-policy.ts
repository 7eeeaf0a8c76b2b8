import { seccompBytes } from "./bpf.ts";
import type { Policy } from "./policy.ts";

const words = (text: string): string[] => text.trim().split(/\s+/);

/**
 * The system calls of a process that runs a WebAssembly module: it reads and writes open descriptors, and manages
 * memory and the threads that it has. It opens no file, makes no socket, and starts neither thread nor program.
 */
const WASM_POLICY: Policy = {
  allowed: words(`
    read write readv writev
    mmap munmap mprotect mremap madvise brk pkey_alloc pkey_free pkey_mprotect
    futex sched_yield membarrier rseq restart_syscall
    rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack tgkill getpid gettid
    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday getrandom
    epoll_wait epoll_pwait epoll_pwait2 poll ppoll
    getrusage sysinfo sched_getaffinity getcpu
    exit exit_group
  `),
  denied: words(`
    open openat openat2 creat socket socketpair connect clone fork vfork execve execveat ptrace prlimit64 prctl ioctl
    kill process_vm_readv process_vm_writev bpf mount unshare setns
  `),
  conditional: [],
};

/** The filter of such a process; undefined where the kernel has no seccomp, or another architecture. */
export function wasmFilter(): Buffer | undefined {
  return process.platform === "linux" ? seccompBytes(process.arch, WASM_POLICY) : undefined;
}
