import { endianness } from "node:os";
import type { Condition, Policy } from "./policy.ts";
import { CONTAINER_POLICY, DENIED_CALL_ERRNO, UNKNOWN_CALL_ERRNO } from "./policy.ts";
import type { NumberedArchitecture } from "./system-calls.ts";
import { callNumber } from "./system-calls.ts";

/** One instruction of classic BPF (`struct sock_filter`): a jump skips `jt` or `jf` instructions. */
export interface Instruction {
  code: number;
  jt: number;
  jf: number;
  k: number;
}

// <linux/filter.h> and <linux/seccomp.h>
const LOAD_WORD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const JUMP_IF_ANY_BIT = 0x45;
const RETURN = 0x06;
const RET_ALLOW = 0x7fff_0000;
const RET_ERRNO = 0x0005_0000;
const RET_KILL_PROCESS = 0x8000_0000;
/** `struct seccomp_data`: int nr, u32 arch, u64 instruction_pointer, u64 args[6]; little-endian. */
const OFFSET_NUMBER = 0;
const OFFSET_ARCHITECTURE = 4;
const OFFSET_ARGUMENTS = 16;
/** The maximum distance of a conditional jump. */
const MAX_JUMP = 255;

/** AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of <linux/audit.h>. */
const auditArchitectures: Record<NumberedArchitecture, number> = { x64: 0xc000_003e, arm64: 0xc000_00b7 };

const errno = (code: number): number => RET_ERRNO | code;
const ret = (k: number): Instruction => ({ code: RETURN, jt: 0, jf: 0, k: k >>> 0 });
const load = (k: number): Instruction => ({ code: LOAD_WORD, jt: 0, jf: 0, k });

/**
 * Compiles a policy to a filter program with a binary search over call numbers. For calls without conditions on
 * arguments, the kernel evaluates the filter once, when it is installed.
 *
 * Calls of other architectures (32-bit programs on a 64-bit machine) kill the process, because their numbers differ.
 */
export function seccompProgram(architecture: NumberedArchitecture, policy: Policy = CONTAINER_POLICY): Instruction[] {
  return [
    load(OFFSET_ARCHITECTURE),
    { code: JUMP_IF_EQUAL, jt: 1, jf: 0, k: auditArchitectures[architecture] },
    ret(RET_KILL_PROCESS),
    load(OFFSET_NUMBER),
    ...search(ranges(architecture, policy)),
  ];
}

/** The program as an array of `struct sock_filter`; undefined for architectures without a table of call numbers. */
export function seccompBytes(
  architecture: NodeJS.Architecture = process.arch,
  policy: Policy = CONTAINER_POLICY,
): Buffer | undefined {
  if ((architecture !== "x64" && architecture !== "arm64") || endianness() !== "LE") return undefined;
  const program = seccompProgram(architecture, policy);
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, { code, jt, jf, k }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jt, index * 8 + 2);
    bytes.writeUInt8(jf, index * 8 + 3);
    bytes.writeUInt32LE(k, index * 8 + 4);
  }
  return bytes;
}

/** The action from this number up to the next range. */
interface Range {
  from: number;
  verdict: Instruction[];
}

function ranges(architecture: NumberedArchitecture, { allowed, denied, conditional }: Policy): Range[] {
  const verdicts = new Map<number, Instruction[]>();
  const put = (name: string, verdict: Instruction[]): void => {
    const number = callNumber(name, architecture);
    if (number !== undefined) verdicts.set(number, verdict);
  };
  const allow = [ret(RET_ALLOW)];
  const deny = [ret(errno(DENIED_CALL_ERRNO))];
  const unknown = [ret(errno(UNKNOWN_CALL_ERRNO))];
  for (const name of allowed) put(name, allow);
  for (const name of denied) put(name, deny);
  for (const call of conditional) put(call.name, conditions(call.cases, call.errno));

  const found: Range[] = [];
  const last = Math.max(...verdicts.keys());
  for (let number = 0; number <= last + 1; number++) {
    const verdict = verdicts.get(number) ?? unknown;
    if (found.at(-1)?.verdict !== verdict) found.push({ from: number, verdict });
  }
  return found;
}

function search(among: readonly Range[]): Instruction[] {
  const middle = among.length >> 1;
  if (middle === 0) return among[0]?.verdict ?? [];
  const below = search(among.slice(0, middle));
  const from = search(among.slice(middle));
  return [jump(JUMP_IF_AT_LEAST, (among[middle] as Range).from, below.length, 0), ...below, ...from];
}

function conditions(cases: readonly (readonly Condition[])[], otherwise: number): Instruction[] {
  let program = [ret(errno(otherwise))];
  // Starts with the last case: a condition that is not met jumps to the next case.
  for (const all of cases.toReversed()) {
    let block = [ret(RET_ALLOW)];
    for (const condition of all.toReversed()) {
      const test =
        "equals" in condition
          ? jump(JUMP_IF_EQUAL, condition.equals, 0, block.length)
          : jump(JUMP_IF_ANY_BIT, condition.without, block.length, 0);
      block = [load(OFFSET_ARGUMENTS + 8 * condition.argument), test, ...block];
    }
    program = [...block, ...program];
  }
  return program;
}

function jump(code: number, k: number, jt: number, jf: number): Instruction {
  if (Math.max(jt, jf) > MAX_JUMP) throw new RangeError(`a jump of ${Math.max(jt, jf)} instructions is too far`);
  return { code, jt, jf, k };
}
