import { closeSync, openSync, readSync } from "node:fs";

/** The contents of a made-up ELF file. */
export interface ElfContents {
  readonly interpreter?: string;
  readonly needed?: readonly string[];
  readonly rpath?: string;
  readonly runpath?: string;
  /** e_machine; default: this machine's. */
  readonly machine?: number;
}

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const PT_INTERP = 3;
const STRINGS_AT = 0x400;
const DYNAMIC_AT = 0x1000;
const BASE = 0x400000;

/** The bytes of a 64-bit little-endian ELF file, for tests. It has no code. */
export function elfFile({ interpreter, needed = [], rpath, runpath, machine = thisMachine() }: ElfContents): Buffer {
  const file = Buffer.alloc(DYNAMIC_AT + 0x400);
  let strings = "\0";
  const add = (text: string): bigint => {
    strings += `${text}\0`;
    return BigInt(strings.length - text.length - 1);
  };
  const entries: [bigint, bigint][] = needed.map((name) => [1n, add(name)]);
  if (rpath !== undefined) entries.push([15n, add(rpath)]);
  if (runpath !== undefined) entries.push([29n, add(runpath)]);
  entries.push([5n, BigInt(BASE + STRINGS_AT)], [0n, 0n]);
  const interpreterAt = interpreter === undefined ? undefined : STRINGS_AT + Number(add(interpreter));
  file.write(strings, STRINGS_AT, "latin1");
  entries.forEach(([tag, value], index) => {
    file.writeBigUInt64LE(tag, DYNAMIC_AT + index * 16);
    file.writeBigUInt64LE(value, DYNAMIC_AT + index * 16 + 8);
  });
  const segments: [number, number, number, number][] = [[PT_LOAD, 0, BASE, file.length]];
  if (needed.length > 0 || rpath !== undefined || runpath !== undefined) {
    segments.push([PT_DYNAMIC, DYNAMIC_AT, BASE + DYNAMIC_AT, entries.length * 16]);
  }
  if (interpreterAt !== undefined)
    segments.push([PT_INTERP, interpreterAt, BASE + interpreterAt, (interpreter ?? "").length + 1]);
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(file);
  file.writeUInt16LE(2, 16);
  file.writeUInt16LE(machine, 18);
  file.writeBigUInt64LE(64n, 32);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(segments.length, 56);
  segments.forEach(([type, offset, address, size], index) => {
    const at = 64 + index * 56;
    file.writeUInt32LE(type, at);
    file.writeBigUInt64LE(BigInt(offset), at + 8);
    file.writeBigUInt64LE(BigInt(address), at + 16);
    file.writeBigUInt64LE(BigInt(size), at + 32);
  });
  return file;
}

function thisMachine(): number {
  const header = Buffer.alloc(20);
  const fd = openSync(process.execPath, "r");
  readSync(fd, header, 0, 20, 0);
  closeSync(fd);
  return header.readUInt16LE(18);
}
