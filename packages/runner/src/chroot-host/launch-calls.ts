import { constants } from "node:os";
import { posix } from "node:path";
import { seccompBytes } from "../seccomp/bpf.ts";
import { CHROOT_POLICY } from "../seccomp/policy.ts";
import { cString, type SystemCall, words64 } from "./launcher.ts";

/** The process of a function. */
export interface ChrootProcess {
  readonly args: readonly string[];
  readonly env: readonly string[];
  readonly cwd: string;
  /** Resource limits in the form of config.json. */
  readonly rlimits: readonly { readonly type: string; readonly hard: number; readonly soft: number }[];
}

/** Numbers of <sys/resource.h>. */
const RLIMITS: ReadonlyMap<string, number> = new Map([
  ["RLIMIT_FSIZE", 1],
  ["RLIMIT_DATA", 2],
  ["RLIMIT_CORE", 4],
  ["RLIMIT_NPROC", 6],
  ["RLIMIT_NOFILE", 7],
]);

// <fcntl.h>, <linux/prctl.h>, <linux/capability.h>, <linux/seccomp.h>
const AT_FDCWD = -100;
const O_WRONLY_CREAT_CLOEXEC = 0o2000101;
const PR_SET_PDEATHSIG = 1;
const PR_CAPBSET_DROP = 24;
const PR_SET_NO_NEW_PRIVS = 38;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;
const LAST_CAPABILITY = 40;
const CAPABILITY_VERSION_3 = 0x20080522;
const SECCOMP_SET_MODE_FILTER = 1;
/** Size of each `struct sock_filter`. */
const INSTRUCTION_BYTES = 8;

const ALL_PROCESSES = -1;

/**
 * The calls that start a function in a chroot: with its own user, no supplementary groups, no capabilities and no way
 * to gain any, and the seccomp filter of chroots.
 *
 * @param report path of a new file for the call that failed
 */
export function startCalls(root: string, id: number, process: ChrootProcess, report: string): SystemCall[] {
  return [
    call("openat", AT_FDCWD, cString(report), O_WRONLY_CREAT_CLOEXEC, 0o600),
    ...process.rlimits.map(({ type, hard, soft }) => {
      const number = RLIMITS.get(type);
      if (number === undefined) throw new TypeError(`no number of ${type} is known`);
      return call("prlimit64", 0, number, words64(soft, hard), 0);
    }),
    call("umask", 0o022),
    call("chroot", cString(root)),
    call("chdir", cString("/")),
    call("chdir", cString(process.cwd)),
    ...becomeUser(id),
    // The kernel clears this setting when the user changes.
    call("prctl", PR_SET_PDEATHSIG, constants.signals.SIGKILL),
    ...filterCalls(),
    ...executeCalls(process),
  ];
}

/**
 * The calls that kill all processes of a user at once, including processes that are being forked. Without capabilities
 * the caller cannot signal processes of other users.
 */
export function killCalls(id: number): SystemCall[] {
  return [...becomeUser(id), call("kill", ALL_PROCESSES, constants.signals.SIGKILL), call("exit_group", 0)];
}

function becomeUser(id: number): SystemCall[] {
  const capabilities = Array.from({ length: LAST_CAPABILITY + 1 }, (_, capability) => capability);
  return [
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
    // Requires CAP_SETPCAP. With no_new_privs set, the bounding set grants nothing.
    ...capabilities.map((capability) => ({ ...call("prctl", PR_CAPBSET_DROP, capability), mayFail: true })),
    // Kernels without ambient capabilities (before 4.3) have none to clear.
    { ...call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), mayFail: true },
    call("setgroups", 0, 0),
    call("setresgid", id, id, id),
    call("setresuid", id, id, id),
    // A process whose securebits keep capabilities would still have them.
    call("capset", words64(CAPABILITY_VERSION_3), words64(0, 0, 0)),
  ];
}

function filterCalls(): SystemCall[] {
  const filter = seccompBytes(process.arch, CHROOT_POLICY);
  if (filter === undefined) throw new Error("no seccomp filter exists for this processor");
  // struct sock_fprog: the number of instructions and their address.
  return [call("seccomp", SECCOMP_SET_MODE_FILTER, 0, [filter.length / INSTRUCTION_BYTES, filter])];
}

/** Returns one call for each folder of PATH that can contain the program. */
function executeCalls({ args, env }: ChrootProcess): SystemCall[] {
  const [program = ""] = args;
  const argv = [...args.map(cString), 0];
  const environment = [...env.map(cString), 0];
  const path = env.find((variable) => variable.startsWith("PATH="))?.slice("PATH=".length) ?? "/usr/bin:/bin";
  const found = program.includes("/") ? [program] : path.split(":").map((folder) => posix.join(folder || ".", program));
  return found.map((file, index) => ({
    ...call("execve", cString(file), argv, environment),
    mayFail: index < found.length - 1,
  }));
}

function call(name: string, ...args: SystemCall["arguments"]): SystemCall {
  return { name, arguments: args };
}
