import { closeSync, openSync, readSync } from "node:fs";
import { InputError } from "@xfn/input";

/** The dynamic section of a program or shared library. */
export interface ElfFile {
  /** Class and machine, such as `2:62`. A program needs libraries with the same. */
  readonly architecture: string;
  /** The dynamic loader (PT_INTERP). Absent in static programs and libraries. */
  readonly interpreter?: string;
  /** Names of the needed libraries, in order (DT_NEEDED). */
  readonly needed: readonly string[];
  readonly rpath: readonly string[];
  readonly runpath: readonly string[];
}

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const PT_INTERP = 3;
const DT_NEEDED = 1;
const DT_STRTAB = 5;
const DT_RPATH = 15;
const DT_RUNPATH = 29;

// A linker writes about ten program headers and a hundred dynamic entries; a file that claims more is damaged.
const MAX_PROGRAM_HEADERS = 512;
const MAX_DYNAMIC_BYTES = 1024 * 1024;
const MAX_STRING = 4096;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/**
 * Reads the dynamic section of an ELF file. Unlike `ldd`, never executes the file.
 *
 * @see https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html
 * @returns undefined for a file that is not ELF
 * @throws InputError for a damaged file
 */
export function readElf(path: string): ElfFile | undefined {
  const fd = openSync(path, "r");
  try {
    return new ElfReader(fd, path).read();
  } finally {
    closeSync(fd);
  }
}

class ElfReader {
  readonly #fd: number;
  readonly #path: string;
  #wide = true;
  #little = true;

  constructor(fd: number, path: string) {
    this.#fd = fd;
    this.#path = path;
  }

  read(): ElfFile | undefined {
    const header = Buffer.alloc(64);
    const length = readSync(this.#fd, header, 0, 64, 0);
    if (length < 52 || header.readUInt32BE(0) !== 0x7f454c46) return undefined;
    this.#wide = header[4] === 2;
    this.#little = header[5] === 1;
    const architecture = `${header[4]}:${this.#u16(header, 18)}`;
    const segments = this.#segments(header);
    const base = { architecture, needed: [], rpath: [], runpath: [] };
    const interpreter = segments.find(({ type }) => type === PT_INTERP);
    const dynamic = segments.find(({ type }) => type === PT_DYNAMIC);
    const file = dynamic === undefined ? base : { ...base, ...this.#dynamic(dynamic, segments) };
    return interpreter === undefined ? file : { ...file, interpreter: this.#string(interpreter.offset) };
  }

  #segments(header: Buffer): Segment[] {
    const offset = this.#word(header, this.#wide ? 32 : 28);
    const entrySize = this.#u16(header, this.#wide ? 54 : 42);
    const count = this.#u16(header, this.#wide ? 56 : 44);
    if (count > MAX_PROGRAM_HEADERS || (count > 0 && entrySize < (this.#wide ? 56 : 32)))
      throw this.#damaged("program headers");
    const table = this.#bytes(offset, count * entrySize);
    return Array.from({ length: count }, (_, index) => {
      const entry = table.subarray(index * entrySize);
      return {
        type: this.#u32(entry, 0),
        offset: this.#word(entry, this.#wide ? 8 : 4),
        address: this.#word(entry, this.#wide ? 16 : 8),
        size: this.#word(entry, this.#wide ? 32 : 16),
      };
    });
  }

  #dynamic(segment: Segment, segments: readonly Segment[]): Pick<ElfFile, "needed" | "rpath" | "runpath"> {
    if (segment.size > MAX_DYNAMIC_BYTES) throw this.#damaged("dynamic section");
    const table = this.#bytes(segment.offset, segment.size);
    const width = this.#wide ? 8 : 4;
    const entries: { tag: number; value: number }[] = [];
    for (let at = 0; at + 2 * width <= table.length; at += 2 * width) {
      const tag = this.#word(table, at);
      if (tag === 0) break;
      entries.push({ tag, value: this.#word(table, at + width) });
    }
    const strings = entries.find(({ tag }) => tag === DT_STRTAB);
    if (strings === undefined) return { needed: [], rpath: [], runpath: [] };
    const stringTable = this.#fileOffset(strings.value, segments);
    const values = (wanted: number): string[] =>
      entries.filter(({ tag }) => tag === wanted).map(({ value }) => this.#string(stringTable + value));
    const paths = (wanted: number): string[] =>
      values(wanted).flatMap((list) => list.split(":").filter((path) => path !== ""));
    return { needed: values(DT_NEEDED), rpath: paths(DT_RPATH), runpath: paths(DT_RUNPATH) };
  }

  #fileOffset(address: number, segments: readonly Segment[]): number {
    const segment = segments.find(
      (each) => each.type === PT_LOAD && address >= each.address && address < each.address + each.size,
    );
    if (segment === undefined) throw this.#damaged("string table");
    return segment.offset + (address - segment.address);
  }

  #string(offset: number): string {
    const bytes = Buffer.alloc(MAX_STRING);
    const length = readSync(this.#fd, bytes, 0, MAX_STRING, offset);
    const end = bytes.subarray(0, length).indexOf(0);
    if (end < 0) throw this.#damaged("string");
    return bytes.toString("utf8", 0, end);
  }

  #bytes(offset: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    if (readSync(this.#fd, bytes, 0, length, offset) !== length) throw this.#damaged("file: it ends early");
    return bytes;
  }

  #u16(bytes: Buffer, at: number): number {
    return this.#little ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at);
  }

  #u32(bytes: Buffer, at: number): number {
    return this.#little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
  }

  #word(bytes: Buffer, at: number): number {
    if (!this.#wide) return this.#u32(bytes, at);
    const value = this.#little ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at);
    // Only processor-specific tags are larger, which no caller looks for.
    return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
  }

  #damaged(what: string): InputError {
    return new InputError(`${this.#path} is a damaged ELF file: ${what}`);
  }
}
