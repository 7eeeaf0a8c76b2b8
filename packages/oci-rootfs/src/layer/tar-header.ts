import { type BytePath, unsafe } from "./entry-path.ts";

/** The block size of headers and contents (POSIX.1-2017, pax, "ustar Interchange Format"). */
export const BLOCK_BYTES = 512;

/** The fields of one header block. */
export interface TarHeader {
  readonly name: BytePath;
  readonly link: BytePath;
  /** The type flag; `\0` in archives older than POSIX. */
  readonly type: string;
  readonly mode: number;
  readonly size: number;
  /** Seconds. */
  readonly mtime: number;
}

/**
 * Parses a header in the formats POSIX ustar, GNU, star and V7.
 *
 * @returns undefined for a block of zeros, which ends an archive
 * @throws ImageError UnsafeLayer
 */
export function readHeader(block: Buffer): TarHeader | undefined {
  let unsigned = 0;
  let signed = 0;
  for (let at = 0; at < BLOCK_BYTES; at++) {
    const byte = at >= 148 && at < 156 ? 0x20 : (block[at] as number);
    unsigned += byte;
    signed += byte < 0x80 ? byte : byte - 0x100;
  }
  if (unsigned === 8 * 0x20 && isZero(block)) return undefined;
  const sum = number(block, 148, 8, "checksum");
  // Some writers sum signed bytes.
  if (sum !== unsigned && sum !== signed) throw unsafe("not a tar archive, or a damaged one: wrong checksum");
  return {
    name: nameOf(block),
    link: text(block, 157, 100),
    type: String.fromCharCode(block[156] as number),
    mode: number(block, 100, 8, "mode"),
    size: number(block, 124, 12, "size"),
    mtime: number(block, 136, 12, "time"),
  };
}

function isZero(block: Buffer): boolean {
  for (let at = 148; at < 156; at++) if (block[at] !== 0) return false;
  return true;
}

function nameOf(block: Buffer): BytePath {
  const name = text(block, 0, 100);
  if (block.toString("latin1", 257, 263) !== "ustar\0") return name;
  // star stores times at the end of ustar's prefix field.
  const prefix = text(block, 345, block.toString("latin1", 508, 512) === "tar\0" ? 131 : 155);
  return prefix === "" ? name : `${prefix}/${name}`;
}

function text(block: Buffer, offset: number, length: number): BytePath {
  const end = block.indexOf(0, offset);
  return block.toString("latin1", offset, end < 0 || end > offset + length ? offset + length : end);
}

/** Parses octal digits, or a big-endian number in two's complement if the first bit is set. */
function number(block: Buffer, offset: number, length: number, what: string): number {
  const first = block[offset] as number;
  let value = 0;
  if ((first & 0x80) === 0) {
    const digits = block.toString("latin1", offset, offset + length).replace(/^[ \0]+|[ \0]+$/g, "");
    if (!/^[0-7]*$/.test(digits)) throw unsafe(`unreadable ${what}`);
    value = digits === "" ? 0 : Number.parseInt(digits, 8);
  } else {
    value = (first & 0x40) === 0 ? first & 0x3f : (first & 0x7f) - 0x80;
    for (let at = offset + 1; at < offset + length; at++) value = value * 256 + (block[at] as number);
  }
  if (!Number.isSafeInteger(value)) throw unsafe(`impossible ${what} ${value}`);
  return value;
}
