import { constants } from "node:os";

/** A condition on the low 32 bits of one argument. */
export type Condition =
  | { argument: number; equals: number }
  /** None of these bits may be set. */
  | { argument: number; without: number };

/** A system call that is allowed if all conditions of one of its cases are met. Otherwise it fails with `errno`. */
export interface ConditionalCall {
  name: string;
  cases: readonly (readonly Condition[])[];
  errno: number;
}

/** The system calls of one kind of process. All other calls fail like unknown calls. */
export interface Policy {
  readonly allowed: readonly string[];
  readonly denied: readonly string[];
  readonly conditional: readonly ConditionalCall[];
}

const words = (text: string): string[] => text.trim().split(/\s+/);

/**
 * Calls that a function may make. Names that exist only on other architectures are ignored. The kernel's own trampoline
 * calls `uretprobe` in a program that the host traces.
 */
export const allowedCalls: readonly string[] = words(`
  read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek
  open openat openat2 creat close close_range dup dup2 dup3 fcntl flock ioctl
  stat fstat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat getdents getdents64 getcwd chdir fchdir
  mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat mknod mknodat umask
  chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes utimensat futimesat
  truncate ftruncate fallocate fsync fdatasync sync syncfs sync_file_range statfs fstatfs
  getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr
  copy_file_range sendfile splice tee vmsplice readahead fadvise64 cachestat
  inotify_init inotify_init1 inotify_add_watch inotify_rm_watch

  mmap munmap mprotect mremap madvise msync mincore brk mlock mlock2 munlock mlockall munlockall mseal
  memfd_create membarrier pkey_alloc pkey_free pkey_mprotect map_shadow_stack

  fork vfork execve execveat exit exit_group wait4 waitid kill tkill tgkill pidfd_open pidfd_send_signal
  getpid getppid gettid getpgid setpgid getpgrp getsid setsid set_tid_address
  getuid geteuid getgid getegid getresuid getresgid getgroups
  setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capget capset
  prctl arch_prctl uretprobe seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self
  getrlimit setrlimit prlimit64 getrusage times sysinfo uname getrandom getcpu rseq restart_syscall
  sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_setparam sched_getscheduler sched_setscheduler
  sched_getattr sched_setattr sched_get_priority_max sched_get_priority_min sched_rr_get_interval
  getpriority setpriority ioprio_get ioprio_set

  rt_sigaction rt_sigprocmask rt_sigpending rt_sigqueueinfo rt_tgsigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
  sigaltstack pause signalfd signalfd4
  time gettimeofday clock_gettime clock_getres nanosleep clock_nanosleep alarm getitimer setitimer
  timer_create timer_delete timer_gettime timer_settime timer_getoverrun timerfd_create timerfd_gettime timerfd_settime

  futex futex_waitv futex_wait futex_wake futex_requeue set_robust_list get_robust_list
  poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
  pipe pipe2 eventfd eventfd2
  semget semop semtimedop semctl shmget shmat shmdt shmctl msgget msgsnd msgrcv msgctl
  mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr

  bind connect listen accept accept4 getsockname getpeername shutdown setsockopt getsockopt
  sendto sendmsg sendmmsg recvfrom recvmsg recvmmsg
`);

/**
 * Calls that fail with EPERM, as unprivileged programs expect. Most of them would fail without this profile too, but
 * with it they do not reach the kernel's code.
 */
export const deniedCalls: readonly string[] = words(`
  mount umount2 pivot_root chroot mount_setattr open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick
  unshare setns
  ptrace process_vm_readv process_vm_writev process_madvise process_mrelease pidfd_getfd kcmp
  bpf perf_event_open userfaultfd add_key request_key keyctl
  fanotify_init fanotify_mark name_to_handle_at open_by_handle_at
  mbind get_mempolicy set_mempolicy set_mempolicy_home_node migrate_pages move_pages
  adjtimex clock_adjtime clock_settime settimeofday
  reboot kexec_load kexec_file_load init_module finit_module delete_module
  swapon swapoff acct quotactl quotactl_fd syslog sethostname setdomainname vhangup ioperm iopl modify_ldt
`);

/** The error of every other call, such as `clone3`, `io_uring_setup` and future calls. Libraries then fall back. */
export const UNKNOWN_CALL_ERRNO: number = constants.errno.ENOSYS;
/** The error of {@link deniedCalls}. */
export const DENIED_CALL_ERRNO: number = constants.errno.EPERM;

// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET of <linux/sched.h>. clone3 passes its flags in
// memory, which a filter cannot read, so it fails with ENOSYS, and libraries fall back to clone.
const CLONE_NAMESPACES = 0x7e02_0000;
// CONFIG_CLONE_BACKWARDS2 puts the stack first.
const CLONE_FLAGS = process.arch === "s390x" ? 1 : 0;

// <linux/socket.h>, <linux/netlink.h>, <linux/in.h>
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const NETLINK_ROUTE = 0;
/** Default, ICMP, TCP, UDP, ICMPv6, MPTCP. Excludes protocols that load a kernel module, such as SCTP and DCCP. */
const INTERNET_PROTOCOLS = [0, 1, 6, 17, 58, 262];

/**
 * The allowed families. AF_VSOCK would reach a virtual machine's host from any network namespace, and AF_ALG exposes
 * kernel code.
 */
const SOCKETS: Condition[][] = [
  [{ argument: 0, equals: AF_UNIX }],
  ...[AF_INET, AF_INET6].flatMap((family) =>
    INTERNET_PROTOCOLS.map((protocol) => [
      { argument: 0, equals: family },
      { argument: 2, equals: protocol },
    ]),
  ),
  // Lists network interfaces (getifaddrs). Other netlink protocols configure the system, or list other programs'
  // sockets.
  [
    { argument: 0, equals: AF_NETLINK },
    { argument: 2, equals: NETLINK_ROUTE },
  ],
];

/** Calls that depend on their arguments. */
export const conditionalCalls: readonly ConditionalCall[] = [
  { name: "clone", cases: [[{ argument: CLONE_FLAGS, without: CLONE_NAMESPACES }]], errno: constants.errno.EPERM },
  { name: "socket", cases: SOCKETS, errno: constants.errno.EAFNOSUPPORT },
  { name: "socketpair", cases: [[{ argument: 0, equals: AF_UNIX }]], errno: constants.errno.EAFNOSUPPORT },
  // PER_LINUX and the query. Other personalities weaken defences such as address space randomisation.
  {
    name: "personality",
    cases: [[{ argument: 0, equals: 0 }], [{ argument: 0, equals: 0xffff_ffff }]],
    errno: constants.errno.EPERM,
  },
];

/**
 * System V IPC and POSIX message queues. Their objects belong to an IPC namespace, and outlive the processes that
 * created them. A container has its own namespace, but a chroot uses that of the machine.
 */
const IPC_CALLS: ReadonlySet<string> = new Set(
  words(`
    semget semop semtimedop semctl shmget shmat shmdt shmctl msgget msgsnd msgrcv msgctl
    mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
  `),
);

/** The system calls that functions in containers may make. */
export const CONTAINER_POLICY: Policy = {
  allowed: allowedCalls,
  denied: deniedCalls,
  conditional: conditionalCalls,
};

/** The system calls that functions in chroots may make. IPC calls fail with ENOSYS, as on a kernel without IPC. */
export const CHROOT_POLICY: Policy = {
  ...CONTAINER_POLICY,
  allowed: allowedCalls.filter((name) => !IPC_CALLS.has(name)),
};
