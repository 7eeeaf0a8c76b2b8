import { MAX_MEMORY_BYTES, PAGE_BYTES } from "../protocol/limits.ts";
import { readUnsigned, unsignedBytes } from "./leb128.ts";
import { CUSTOM, IMPORTS, MEMORIES, onlySection, type Section, sectionsOf } from "./sections.ts";

/** The name of the import that {@link importMemory} makes. */
export const MEMORY_IMPORT = { module: "xfn", name: "memory" } as const;

/** The size of a memory, in pages. */
export interface MemoryType {
  readonly initial: number;
  readonly maximum?: number;
}

/** A module that imports its memory instead of defining it. */
export interface WithoutMemory {
  readonly bytes: Buffer;
  readonly memory: MemoryType;
}

/** The kind of an import, and the flag of a memory that has a maximum. */
const MEMORY_KIND = 2;
const HAS_MAXIMUM = 1;

const MAX_PAGES = MAX_MEMORY_BYTES / PAGE_BYTES;

/**
 * Makes a module import its memory. The host then creates the memory of each instance, and can prepare its pages before
 * V8 copies the data segments. The behaviour of an instance does not change.
 *
 * @param module any bytes: V8 rejects the same modules afterwards
 * @returns undefined for a module without imports, without exactly one ordinary memory, or with malformed sections
 */
export function importMemory(module: Buffer): WithoutMemory | undefined {
  const imports = onlySection(module, IMPORTS);
  const memories = onlySection(module, MEMORIES);
  if (imports === undefined || memories === undefined || !isInPlace(module, memories)) return undefined;
  const limits = readUnsigned(module, memories.content);
  const count = readUnsigned(module, imports.content);
  if (limits?.value !== 1 || count === undefined || count.next > imports.end) return undefined;
  const memory = readLimits(module.subarray(0, memories.end), limits.next);
  if (memory === undefined) return undefined;
  const names = [MEMORY_IMPORT.module, MEMORY_IMPORT.name].map((name) => [name.length, ...Buffer.from(name)]);
  const content = Buffer.concat([
    Buffer.from(unsignedBytes(count.value + 1)),
    module.subarray(count.next, imports.end),
    // The import comes after the module's own imports. Functions and memories have separate indexes, so no index
    // changes.
    Buffer.from([...names.flat(), MEMORY_KIND]),
    module.subarray(limits.next, memories.end),
  ]);
  const head = Buffer.from([IMPORTS, ...unsignedBytes(content.length)]);
  const between = module.subarray(imports.end, memories.start);
  const bytes = Buffer.concat([
    module.subarray(0, imports.start),
    head,
    content,
    between,
    module.subarray(memories.end),
  ]);
  return { bytes, memory };
}

/** Whether the section is at a position that V8 accepts. Without the section, V8 could not reject the module for it. */
function isInPlace(module: Buffer, { start }: Section): boolean {
  const others = sectionsOf(module)?.filter(({ id }) => id !== CUSTOM && id !== MEMORIES) ?? [];
  return others.every((other) => other.start < start === other.id < MEMORIES);
}

/** Reads the limits of a 32-bit memory that is not shared. The limits must end at the end of the bytes. */
function readLimits(bytes: Buffer, at: number): MemoryType | undefined {
  const flags = bytes[at];
  if (flags === undefined || flags > HAS_MAXIMUM) return undefined;
  const initial = readUnsigned(bytes, at + 1);
  const maximum = flags === HAS_MAXIMUM && initial !== undefined ? readUnsigned(bytes, initial.next) : undefined;
  if (initial === undefined || (flags === HAS_MAXIMUM && maximum === undefined)) return undefined;
  if ((maximum ?? initial).next !== bytes.length || initial.value > (maximum?.value ?? MAX_PAGES)) return undefined;
  return { initial: initial.value, ...(maximum && { maximum: Math.min(maximum.value, MAX_PAGES) }) };
}
