import { constants } from "node:os";
import { describe, expect, test } from "vitest";
import type { Instruction } from "./bpf.ts";
import { seccompBytes, seccompProgram } from "./bpf.ts";
import { allowedCalls, CHROOT_POLICY, conditionalCalls, deniedCalls } from "./policy.ts";
import { callNumber } from "./system-calls.ts";
import { wasmFilter } from "./wasm-policy.ts";

const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const errno = (name: keyof typeof constants.errno): number => 0x0005_0000 | constants.errno[name];
const auditArchitecture = { x64: 0xc000_003e, arm64: 0xc000_00b7 };
const clone = { thread: 0x3d0f00, user: 0x1000_0000, mount: 0x0002_0000, network: 0x4000_0000 };

/** Interprets a filter as the kernel does: supports the instructions that our filters use. */
function run(
  program: readonly Instruction[],
  architecture: number,
  number: number,
  args: readonly number[] = [],
): number {
  const words = [number, architecture, 0, 0, ...Array.from({ length: 6 }, (_, index) => [args[index] ?? 0, 0]).flat()];
  let accumulator = 0;
  for (let at = 0; ; ) {
    const instruction = program[at++];
    if (instruction === undefined) throw new Error("ran off the end");
    const { code, jt, jf, k } = instruction;
    const take = (holds: boolean): void => void (at += holds ? jt : jf);
    if (code === 0x06) return k;
    else if (code === 0x20) accumulator = (words[k / 4] as number) >>> 0;
    else if (code === 0x15) take(accumulator === k);
    else if (code === 0x35) take(accumulator >= k);
    else if (code === 0x45) take((accumulator & k) !== 0);
    else throw new Error(`code ${code}`);
  }
}

describe.each(["x64", "arm64"] as const)("the filter of %s", (architecture) => {
  const program = seccompProgram(architecture);
  const verdict = (name: string, ...args: number[]): number =>
    run(program, auditArchitecture[architecture], callNumber(name, architecture) ?? -1, args);
  const known = (names: readonly string[]): string[] =>
    names.filter((name) => callNumber(name, architecture) !== undefined);

  test("decides every call by the policy", () => {
    for (const name of known(allowedCalls)) expect([name, verdict(name)]).toEqual([name, ALLOW]);
    for (const name of known(deniedCalls)) expect([name, verdict(name)]).toEqual([name, errno("EPERM")]);
  });

  test("an unlisted call fails with ENOSYS", () => {
    const listed = new Set(
      [...allowedCalls, ...deniedCalls, ...conditionalCalls.map(({ name }) => name)].map((name) =>
        callNumber(name, architecture),
      ),
    );
    for (let number = 0; number < 1_000; number++) {
      if (!listed.has(number)) expect(run(program, auditArchitecture[architecture], number)).toBe(errno("ENOSYS"));
    }
    // clone3 and io_uring_setup, which have these numbers on all architectures; x32's read.
    for (const number of [435, 425, 0x4000_0000, 0xffff_ffff])
      expect(run(program, auditArchitecture[architecture], number)).toBe(errno("ENOSYS"));
  });

  test("calls of another architecture kill the process", () => {
    for (const other of [0x4000_0003, 0x4000_0028, auditArchitecture[architecture === "x64" ? "arm64" : "x64"]])
      expect(run(program, other, 1)).toBe(KILL_PROCESS);
  });

  test("allows threads and processes, and denies namespaces", () => {
    expect(verdict("clone", clone.thread)).toBe(ALLOW);
    expect(verdict("clone", constants.signals.SIGCHLD)).toBe(ALLOW);
    for (const flag of [clone.user, clone.mount, clone.network])
      expect(verdict("clone", constants.signals.SIGCHLD | flag)).toBe(errno("EPERM"));
  });

  test("allows only internet and local sockets, and the one that lists interfaces", () => {
    const [unix, inet, inet6, netlink, packet, alg, vsock] = [1, 2, 10, 16, 17, 38, 40];
    const [tcp, udp, sctp, dccp] = [6, 17, 132, 33];
    for (const allowed of [
      [unix, 1, 0],
      [inet, 1, tcp],
      [inet6, 2, udp],
      [inet, 1, 0],
      [netlink, 3, 0],
    ])
      expect(verdict("socket", ...(allowed as number[]))).toBe(ALLOW);
    for (const refused of [
      [packet, 3, 0],
      [alg, 5, 0],
      [vsock, 1, 0],
      [netlink, 3, 12],
      [netlink, 3, 4],
      [inet, 1, sctp],
      [inet6, 6, dccp],
    ])
      expect(verdict("socket", ...(refused as number[]))).toBe(errno("EAFNOSUPPORT"));
    expect(verdict("socketpair", unix as number, 1, 0)).toBe(ALLOW);
    expect(verdict("socketpair", alg as number, 1, 0)).toBe(errno("EAFNOSUPPORT"));
  });

  test("allows reading the personality, and denies changing it", () => {
    expect(verdict("personality", 0xffff_ffff)).toBe(ALLOW);
    expect(verdict("personality", 0x0040_0000)).toBe(errno("EPERM"));
  });

  test("the kernel accepts it: no jump leaves it, and it has far fewer than 4,096 instructions", () => {
    expect(program.length).toBeLessThan(1_000);
    for (const [at, { code, jt, jf }] of program.entries()) {
      if ((code & 0x07) === 0x05) expect(at + 1 + Math.max(jt, jf)).toBeLessThan(program.length);
    }
    expect(program.at(-1)?.code).toBe(0x06);
    expect(seccompBytes(architecture)?.length).toBe(program.length * 8);
  });
});

test.each(["x64", "arm64"] as const)("functions in chroots have no IPC with each other on %s", (architecture) => {
  const program = seccompProgram(architecture, CHROOT_POLICY);
  const verdict = (name: string): number =>
    run(program, auditArchitecture[architecture], callNumber(name, architecture) ?? -1);
  const shared = allowedCalls.filter((name) => /^(?:sem|shm|msg)|^mq_/.test(name));
  expect(shared).toHaveLength(18);
  for (const name of shared) expect([name, verdict(name)]).toEqual([name, errno("ENOSYS")]);
  // Calls whose effects end with the process and its descriptors remain allowed.
  for (const name of ["mmap", "memfd_create", "pipe2", "read", "tgkill"])
    expect([name, verdict(name)]).toEqual([name, ALLOW]);
});

test("the process of a WebAssembly module signals no other process", () => {
  const pid = 4711;
  const bytes = wasmFilter()?.(pid);
  const architecture = process.arch as "x64" | "arm64";
  const program = Array.from({ length: (bytes?.length ?? 0) / 8 }, (_, at) => ({
    code: bytes?.readUInt16LE(at * 8) ?? 0,
    jt: bytes?.readUInt8(at * 8 + 2) ?? 0,
    jf: bytes?.readUInt8(at * 8 + 3) ?? 0,
    k: bytes?.readUInt32LE(at * 8 + 4) ?? 0,
  }));
  const verdict = (name: string, ...args: number[]): number =>
    run(program, auditArchitecture[architecture], callNumber(name, architecture) ?? -1, args);
  expect(verdict("tgkill", pid, pid + 1, 6)).toBe(ALLOW);
  for (const other of [0, 1, pid - 1, pid + 1]) expect(verdict("tgkill", other, other, 9)).toBe(errno("EPERM"));
  for (const name of [
    "kill",
    "tkill",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "pidfd_open",
    "pidfd_send_signal",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "ptrace",
    "prlimit64",
    "setpriority",
    "sched_setaffinity",
  ])
    expect([name, verdict(name, pid)]).not.toEqual([name, ALLOW]);
});

test("every name in the policy has a number and occurs once", () => {
  const names = [...allowedCalls, ...deniedCalls, ...conditionalCalls.map(({ name }) => name)];
  expect(new Set(names).size).toBe(names.length);
  for (const architecture of ["x64", "arm64"] as const) {
    const numbers = names.flatMap((name) => callNumber(name, architecture) ?? []);
    expect(new Set(numbers).size).toBe(numbers.length);
  }
  for (const name of names)
    expect([name, callNumber(name, "x64") ?? callNumber(name, "arm64")]).not.toContain(undefined);
});

test("an architecture without a table of numbers has no filter", () => {
  expect(seccompBytes("s390x")).toBeUndefined();
});
