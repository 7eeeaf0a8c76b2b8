import { endianness } from "node:os";
import { callNumber } from "../seccomp/system-calls.ts";

// A program of a few kilobytes that makes system calls one after the other, and exits at the first that fails. Node
// cannot run code between fork and exec, and the tools of util-linux before 2.40 install no seccomp filter.

/**
 * An argument of a system call. Bytes are part of the program, and are passed by address. A list is a structure of
 * 64-bit words: numbers, and addresses of bytes.
 */
export type Argument = number | Uint8Array | readonly (number | Uint8Array)[];

/** One system call of a launcher. */
export interface SystemCall {
  readonly name: string;
  readonly arguments: readonly Argument[];
  /** Whether the program continues after an error. Otherwise it exits. */
  readonly mayFail?: boolean;
}

/**
 * Size of the report on descriptor 3, which the first call opens. It has the error number and then the index of the
 * call, as 32-bit integers.
 */
export const REPORT_BYTES = 8;
/** The exit code after a failed call. */
export const LAUNCH_FAILED = 126;

/** Whether launchers exist for this processor. */
export function canLaunch(architecture: string = process.arch): boolean {
  return architecture === "x64" && endianness() === "LE";
}

/** The program: a static ELF file (elf(5)) with one segment for x86_64. */
export function launcherProgram(calls: readonly SystemCall[]): Buffer {
  const codeBytes = calls.reduce((sum, call) => sum + callBytes(call), FAILURE.length);
  const data = new DataSection(ADDRESS + HEADERS_BYTES + codeBytes);
  const code: Buffer[] = [];
  let at = 0;
  for (const [index, call] of calls.entries()) {
    at += callBytes(call);
    code.push(codeOf(call, index, codeBytes - FAILURE.length - at, data));
  }
  const body = Buffer.concat([...code, FAILURE, data.bytes()]);
  return Buffer.concat([headers(HEADERS_BYTES + body.length), body]);
}

/** A NUL-terminated C string. */
export function cString(text: string): Buffer {
  if (text.includes("\0")) throw new TypeError("a text for a system call contains a NUL");
  return Buffer.from(`${text}\0`);
}

/** 64-bit integers in the form that many system calls take in a structure. */
export function words64(...words: number[]): Buffer {
  const bytes = Buffer.alloc(words.length * 8);
  for (const [index, word] of words.entries()) bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(word)), index * 8);
  return bytes;
}

const ADDRESS = 0x400000;
const FILE_HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const HEADERS_BYTES: number = FILE_HEADER_BYTES + PROGRAM_HEADER_BYTES;
const READ_AND_EXECUTE = 5;

/** `mov REGISTER, imm64` of the arguments, in their order: rdi, rsi, rdx, r10, r8. */
const REGISTERS = ["48bf", "48be", "48ba", "49ba", "49b8"].map((text) => Buffer.from(text, "hex"));
const MOVE_BYTES = 2 + 8;

// mov ebx, INDEX; mov eax, NUMBER; syscall; test rax, rax; js FAILURE
const FIXED_BYTES = 5 + 5 + 2;
const CHECK_BYTES = 3 + 6;

/** Writes the error and the call to the report, and exits. */
const FAILURE = Buffer.from(
  [
    "f7d8", // neg eax: the number of the error
    "48c1e320", // shl rbx, 32
    "4809d8", // or rax, rbx
    "50", // push rax
    "b801000000", // mov eax, 1: write
    "bf03000000", // mov edi, 3: the report
    "4889e6", // mov rsi, rsp
    "ba08000000", // mov edx, 8: REPORT_BYTES
    "0f05", // syscall
    "bf7e000000", // mov edi, 126: LAUNCH_FAILED
    "b8e7000000", // mov eax, 231: exit_group
    "0f05", // syscall
  ].join(""),
  "hex",
);

function callBytes(call: SystemCall): number {
  return call.arguments.length * MOVE_BYTES + FIXED_BYTES + (call.mayFail === true ? 0 : CHECK_BYTES);
}

function codeOf(call: SystemCall, index: number, toFailure: number, data: DataSection): Buffer {
  const number = callNumber(call.name, "x64");
  if (number === undefined) throw new TypeError(`no system call ${call.name} is known`);
  const moves = call.arguments.map((argument, position) => {
    const register = REGISTERS[position];
    if (register === undefined) throw new TypeError(`${call.name} has more than ${REGISTERS.length} arguments`);
    return Buffer.concat([register, words64(data.valueOf(argument))]);
  });
  const check = call.mayFail === true ? [] : [hex("4885c0 0f88"), int32(toFailure)];
  return Buffer.concat([...moves, hex("bb"), int32(index), hex("b8"), int32(number), hex("0f05"), ...check]);
}

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(" ", ""), "hex");
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

/** The bytes after the code, and their addresses. */
class DataSection {
  readonly #start: number;
  readonly #parts: Buffer[] = [];
  #length = 0;

  constructor(start: number) {
    this.#start = start;
  }

  /** The value of a register: a number, or the address of bytes or of a structure. */
  valueOf(argument: Argument): number {
    if (typeof argument === "number") return argument;
    if (argument instanceof Uint8Array) return this.#add(argument);
    return this.#add(words64(...argument.map((word) => this.valueOf(word))));
  }

  bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #add(bytes: Uint8Array): number {
    const address = this.#start + this.#length;
    const padded = Buffer.alloc(Math.ceil(bytes.length / 8) * 8);
    padded.set(bytes);
    this.#parts.push(padded);
    this.#length += padded.length;
    return address;
  }
}

function headers(fileBytes: number): Buffer {
  const bytes = Buffer.alloc(HEADERS_BYTES);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1], 0);
  bytes.writeUInt16LE(2, 16); // executable
  bytes.writeUInt16LE(62, 18); // x86_64
  bytes.writeUInt32LE(1, 20);
  bytes.writeBigUInt64LE(BigInt(ADDRESS + HEADERS_BYTES), 24); // entry
  bytes.writeBigUInt64LE(BigInt(FILE_HEADER_BYTES), 32); // program headers
  bytes.writeUInt16LE(FILE_HEADER_BYTES, 52);
  bytes.writeUInt16LE(PROGRAM_HEADER_BYTES, 54);
  bytes.writeUInt16LE(1, 56); // how many of them
  bytes.writeUInt32LE(1, FILE_HEADER_BYTES); // PT_LOAD
  bytes.writeUInt32LE(READ_AND_EXECUTE, FILE_HEADER_BYTES + 4);
  for (const at of [16, 24]) bytes.writeBigUInt64LE(BigInt(ADDRESS), FILE_HEADER_BYTES + at);
  for (const at of [32, 40]) bytes.writeBigUInt64LE(BigInt(fileBytes), FILE_HEADER_BYTES + at);
  bytes.writeBigUInt64LE(0x1000n, FILE_HEADER_BYTES + 48);
  return bytes;
}
