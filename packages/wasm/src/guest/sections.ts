import { MAX_TABLES } from "../protocol/limits.ts";

/** Section ids (WebAssembly specification, "Binary Format", "Sections"). */
const IMPORTS = 2;
const TABLES = 4;
const MEMORIES = 5;

const MAGIC = 0x6d73_6100;
const MODULE_VERSION = 1;
/** The version and layer of the component model's binary format, which WASI preview 2 uses. */
const COMPONENT_LAYER = 1;

/**
 * Checks what V8 accepts and a function must not have. V8 bounds the size of each memory and table, but a module can
 * declare 100,000 of them.
 *
 * @param bytes the start of the module can be anything
 * @returns why the module is refused; undefined if it is not
 */
export function refusalOf(bytes: Buffer): string | undefined {
  if (bytes.length < 8 || bytes.readUInt32LE(0) !== MAGIC) return "it is no WebAssembly module";
  if (bytes.readUInt16LE(6) === COMPONENT_LAYER)
    return "it is a component of WASI preview 2; build a module for WASI preview 1 (wasip1)";
  if (bytes.readUInt32LE(4) !== MODULE_VERSION) return "its version of WebAssembly is not 1";
  for (let at = 8; at < bytes.length; ) {
    const id = bytes[at];
    const size = readLength(bytes, at + 1);
    if (size === undefined) return "its sections are cut off";
    const count = readLength(bytes, size.next)?.value ?? 0;
    if (id === MEMORIES && count > 1) return `it has ${count} memories; a function has one`;
    if (id === TABLES && count > MAX_TABLES) return `it has ${count} tables, more than ${MAX_TABLES}`;
    if (id === IMPORTS && count > MAX_IMPORTS) return `it has ${count} imports; WASI preview 1 has ${MAX_IMPORTS}`;
    at = size.next + size.value;
  }
  return undefined;
}

/** WASI preview 1 has 46 functions. Each import costs a wrapper. */
const MAX_IMPORTS = 64;

/** An unsigned 32-bit LEB128 number. */
function readLength(bytes: Buffer, from: number): { value: number; next: number } | undefined {
  let value = 0;
  for (let index = 0; index < 5; index++) {
    const byte = bytes[from + index];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, next: from + index + 1 };
  }
  return undefined;
}
