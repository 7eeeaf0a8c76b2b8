import { MAX_TABLES } from "../protocol/limits.ts";
import { readUnsigned } from "./leb128.ts";

/** Section ids (WebAssembly specification, "Binary Format", "Sections"). */
export const CUSTOM = 0;
export const IMPORTS = 2;
const TABLES = 4;
export const MEMORIES = 5;
export const DATA = 11;
export const DATA_COUNT = 12;

const HEADER_BYTES = 8;
const MAGIC = 0x6d73_6100;
const MODULE_VERSION = 1;
/** The version and layer of the component model's binary format, which WASI preview 2 uses. */
const COMPONENT_LAYER = 1;

/** WASI preview 1 has 46 functions. Each import costs a wrapper. */
const MAX_IMPORTS = 64;

/** Longer lengths are not valid 32-bit numbers. */
const MAX_LENGTH_BYTES = 5;

/** A section of a module: its id, and the indexes of its id, its content and its end. */
export interface Section {
  readonly id: number;
  readonly start: number;
  readonly content: number;
  readonly end: number;
}

/** The sections of a module; undefined if they are malformed. */
export function sectionsOf(bytes: Buffer): Section[] | undefined {
  const sections: Section[] = [];
  for (let at = HEADER_BYTES; at < bytes.length; ) {
    const section = sectionAt(bytes, at);
    if (section === undefined || section.end > bytes.length) return undefined;
    sections.push(section);
    at = section.end;
  }
  return sections;
}

/** The only section with an id; undefined if there is none, if there are several, or if the sections are malformed. */
export function onlySection(bytes: Buffer, id: number): Section | undefined {
  const found = sectionsOf(bytes)?.filter((section) => section.id === id) ?? [];
  return found.length === 1 ? found[0] : undefined;
}

/**
 * Checks for parts that V8 accepts but a function must not have. V8 limits the size of each memory and table, but a
 * module can declare 100,000 of them.
 *
 * @param bytes the start of the module; any bytes
 * @returns the reason to reject the module; undefined if there is none
 */
export function refusalOf(bytes: Buffer): string | undefined {
  if (bytes.length < HEADER_BYTES || bytes.readUInt32LE(0) !== MAGIC) return "it is not a WebAssembly module";
  if (bytes.readUInt16LE(6) === COMPONENT_LAYER)
    return "it is a component of WASI preview 2; build a module for WASI preview 1 (wasip1)";
  if (bytes.readUInt32LE(4) !== MODULE_VERSION) return "its version of WebAssembly is not 1";
  for (let at = HEADER_BYTES; at < bytes.length; ) {
    const section = sectionAt(bytes, at);
    // V8 rejects malformed lengths.
    if (section === undefined) return at + MAX_LENGTH_BYTES < bytes.length ? undefined : "its sections are cut off";
    const { id, content } = section;
    const count = readUnsigned(bytes, content)?.value ?? 0;
    if (id === MEMORIES && count > 1) return `it has ${count} memories; a function has one`;
    if (id === TABLES && count > MAX_TABLES) return `it has ${count} tables, more than ${MAX_TABLES}`;
    if (id === IMPORTS && count > MAX_IMPORTS) return `it has ${count} imports; WASI preview 1 has ${MAX_IMPORTS}`;
    at = section.end;
  }
  return undefined;
}

/** The section at an index. It can extend beyond the module. */
function sectionAt(bytes: Buffer, start: number): Section | undefined {
  const id = bytes[start];
  const size = readUnsigned(bytes, start + 1);
  if (id === undefined || size === undefined) return undefined;
  return { id, start, content: size.next, end: size.next + size.value };
}
