// Integers in the binary format (WebAssembly specification, "Binary Format", "Integers").

/** A number, and the index after its last byte. */
export interface Integer {
  readonly value: number;
  readonly next: number;
}

const BYTES = 5;

/**
 * Reads an unsigned 32-bit number. Returns undefined for encodings that V8 rejects: too long, too large, or cut off.
 */
export function readUnsigned(bytes: Uint8Array, from: number): Integer | undefined {
  let value = 0;
  for (let index = 0; index < BYTES; index++) {
    const byte = bytes[from + index];
    if (byte === undefined || (index === BYTES - 1 && byte > 0x0f)) return undefined;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, next: from + index + 1 };
  }
  return undefined;
}

/** Reads a signed 32-bit number. Returns undefined in the same cases as {@link readUnsigned}. */
export function readSigned(bytes: Uint8Array, from: number): Integer | undefined {
  let value = 0;
  for (let index = 0; index < BYTES; index++) {
    const byte = bytes[from + index];
    if (byte === undefined) return undefined;
    // The last byte has four bits of the number, and three bits that repeat its sign.
    if (index === BYTES - 1 && byte > 0x07 && (byte < 0x78 || byte > 0x7f)) return undefined;
    value |= (byte & 0x7f) << (7 * index);
    if (byte >= 0x80) continue;
    const unused = 32 - 7 * (index + 1);
    return { value: unused > 0 ? (value << unused) >> unused : value, next: from + index + 1 };
  }
  return undefined;
}

/** The bytes of an unsigned number. */
export function unsignedBytes(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) + 128);
  }
}

/** The bytes of a signed 32-bit number. */
export function signedBytes(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7) {
    const low = rest & 0x7f;
    const isLast = rest === (low << 25) >> 25;
    if (isLast) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}
