/**
 * A program of a few hundred bytes that copies up to 64 bytes from stdin to stdout, to test containers without an
 * image. It is a static ELF file (elf(5)) with one segment.
 *
 * @param arch a value of `process.arch`
 * @returns undefined for an unsupported processor
 */
export function selfTestProgram(arch: string = process.arch): Buffer | undefined {
  const target = targets[arch];
  if (target === undefined) return undefined;
  const { machine, code } = target;
  const file = Buffer.alloc(HEADERS_BYTES + code.length);
  file.set([0x7f, 0x45, 0x4c, 0x46, CLASS_64, LITTLE_ENDIAN, ELF_VERSION], 0);
  file.writeUInt16LE(EXECUTABLE, 16);
  file.writeUInt16LE(machine, 18);
  file.writeUInt32LE(ELF_VERSION, 20);
  file.writeBigUInt64LE(ADDRESS + BigInt(HEADERS_BYTES), 24); // entry
  file.writeBigUInt64LE(BigInt(FILE_HEADER_BYTES), 32); // program headers
  file.writeUInt16LE(FILE_HEADER_BYTES, 52);
  file.writeUInt16LE(PROGRAM_HEADER_BYTES, 54);
  file.writeUInt16LE(1, 56); // how many of them
  file.writeUInt32LE(LOAD, FILE_HEADER_BYTES);
  file.writeUInt32LE(READ_AND_EXECUTE, FILE_HEADER_BYTES + 4);
  file.writeBigUInt64LE(ADDRESS, FILE_HEADER_BYTES + 16);
  file.writeBigUInt64LE(ADDRESS, FILE_HEADER_BYTES + 24);
  file.writeBigUInt64LE(BigInt(file.length), FILE_HEADER_BYTES + 32);
  file.writeBigUInt64LE(BigInt(file.length), FILE_HEADER_BYTES + 40);
  file.writeBigUInt64LE(0x1000n, FILE_HEADER_BYTES + 48);
  file.set(code, HEADERS_BYTES);
  return file;
}

/** The number of bytes that the program copies. */
export const SELF_TEST_BYTES = 64;

const CLASS_64 = 2;
const LITTLE_ENDIAN = 1;
const ELF_VERSION = 1;
const EXECUTABLE = 2;
const LOAD = 1;
const READ_AND_EXECUTE = 5;
const FILE_HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const HEADERS_BYTES: number = FILE_HEADER_BYTES + PROGRAM_HEADER_BYTES;
const ADDRESS = 0x400000n;

const x64 = [
  "4883ec40", // sub rsp, 64
  "31ff", // xor edi, edi
  "4889e6", // mov rsi, rsp
  "ba40000000", // mov edx, 64
  "31c0", // xor eax, eax: read
  "0f05", // syscall
  "89c2", // mov edx, eax
  "bf01000000", // mov edi, 1
  "4889e6", // mov rsi, rsp
  "b801000000", // mov eax, 1: write
  "0f05", // syscall
  "31ff", // xor edi, edi
  "b8e7000000", // mov eax, 231: exit_group
  "0f05", // syscall
];

const arm64 = [
  0xd10103ff, // sub sp, sp, #64
  0xd2800000, // mov x0, #0
  0x910003e1, // mov x1, sp
  0xd2800802, // mov x2, #64
  0xd28007e8, // mov x8, #63: read
  0xd4000001, // svc #0
  0xaa0003e2, // mov x2, x0
  0xd2800020, // mov x0, #1
  0x910003e1, // mov x1, sp
  0xd2800808, // mov x8, #64: write
  0xd4000001, // svc #0
  0xd2800000, // mov x0, #0
  0xd2800bc8, // mov x8, #94: exit_group
  0xd4000001, // svc #0
];

const targets: Partial<Record<string, { machine: number; code: Uint8Array }>> = {
  x64: { machine: 62, code: Buffer.from(x64.join(""), "hex") },
  arm64: { machine: 183, code: new Uint8Array(Uint32Array.from(arm64).buffer) },
};
