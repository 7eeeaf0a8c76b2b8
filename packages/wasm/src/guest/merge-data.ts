import { MAX_MODULE_BYTES, PAGE_BYTES } from "../protocol/limits.ts";
import { readSigned, readUnsigned, signedBytes, unsignedBytes } from "./leb128.ts";
import { DATA, DATA_COUNT, MEMORIES, onlySection, type Section, sectionsOf } from "./sections.ts";

/**
 * The longest run of zeros between two segments that are merged. Go's linker leaves out runs of zeros: with 64 bytes
 * its 37,000 segments become 9, and with 16 bytes nearly all remain.
 */
const MAX_GAP = 64;

/** The largest growth of a module, as a fraction of its size. */
const MAX_GROWTH = 1 / 4;

/** V8 rejects modules with more segments. */
const MAX_SEGMENTS = 100_000;

/** The flags of a segment that is copied to a constant address of the first memory. */
const ACTIVE = 0;
const I32_CONST = 0x41;
const END = 0x0b;

/** The flag of a memory that has a maximum. */
const HAS_MAXIMUM = 1;

/** Bytes of the module, from one index to another, that are copied to an address of each instance. */
interface Segment {
  readonly address: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Merges neighbouring data segments of a module, because V8 takes some 0.05 us for each segment of each instance. The
 * memory of an instance stays the same. The module is returned unchanged unless all its segments are active, have
 * constant addresses inside the memory, and do not overlap.
 *
 * @param module any bytes: V8 rejects the same modules afterwards
 */
export function mergeData(module: Buffer): Buffer {
  const sections = sectionsOf(module);
  const data = onlySection(module, DATA);
  // The code of a module with this section can refer to segments by index.
  if (sections === undefined || data === undefined || sections.some(({ id }) => id === DATA_COUNT)) return module;
  const memoryBytes = initialMemory(module, onlySection(module, MEMORIES));
  const segments = memoryBytes === undefined ? undefined : readSegments(module, data, memoryBytes);
  if (segments === undefined) return module;
  const room = Math.min(Math.floor(module.length * MAX_GROWTH), MAX_MODULE_BYTES - module.length);
  const runs = runsOf(segments, room);
  if (runs.length === segments.length) return module;
  const content = Buffer.concat([
    Buffer.from(unsignedBytes(runs.length)),
    ...runs.map((run) => segmentOf(module, run)),
  ]);
  const head = Buffer.from([DATA, ...unsignedBytes(content.length)]);
  return Buffer.concat([module.subarray(0, data.start), head, content, module.subarray(data.end)]);
}

/** The initial size of the only memory; undefined for other memories, such as shared ones. */
function initialMemory(module: Buffer, section: Section | undefined): number | undefined {
  if (section === undefined) return undefined;
  const count = readUnsigned(module, section.content);
  const flags = count?.value === 1 ? module[count.next] : undefined;
  if (count === undefined || flags === undefined || flags > HAS_MAXIMUM) return undefined;
  const pages = readUnsigned(module, count.next + 1);
  return pages && pages.value * PAGE_BYTES;
}

/** The segments of the section, sorted by address; undefined if they must stay unchanged. */
function readSegments(module: Buffer, { content, end }: Section, memoryBytes: number): Segment[] | undefined {
  const bytes = module.subarray(0, end);
  const count = readUnsigned(bytes, content);
  if (count === undefined || count.value > MAX_SEGMENTS) return undefined;
  const segments: Segment[] = [];
  let at = count.next;
  for (let index = 0; index < count.value; index++) {
    if (bytes[at] !== ACTIVE || bytes[at + 1] !== I32_CONST) return undefined;
    const address = readSigned(bytes, at + 2);
    if (address === undefined || bytes[address.next] !== END) return undefined;
    const size = readUnsigned(bytes, address.next + 1);
    if (size === undefined) return undefined;
    const start = address.value >>> 0;
    if (start + size.value > memoryBytes) return undefined;
    at = size.next + size.value;
    segments.push({ address: start, from: size.next, to: at });
  }
  // The section has more segments than it declares, or fewer.
  if (at !== end) return undefined;
  segments.sort((one, other) => one.address - other.address);
  return haveOverlap(segments) ? undefined : segments;
}

/** Whether the order of segments matters. */
function haveOverlap(sorted: readonly Segment[]): boolean {
  let written = 0;
  return sorted.some(({ address, from, to }) => {
    const overlaps = address < written;
    written = address + to - from;
    return overlaps;
  });
}

/** Segments to merge, and the address after the last one. */
interface Run {
  readonly segments: Segment[];
  end: number;
}

/** @param room the largest total number of zeros between merged segments */
function runsOf(sorted: readonly Segment[], room: number): Run[] {
  const runs: Run[] = [];
  let run: Run | undefined;
  let zeros = 0;
  for (const segment of sorted) {
    const end = segment.address + segment.to - segment.from;
    const gap = segment.address - (run?.end ?? 0);
    if (run !== undefined && gap <= MAX_GAP && zeros + gap <= room) {
      zeros += gap;
      run.segments.push(segment);
      run.end = end;
    } else {
      run = { segments: [segment], end };
      runs.push(run);
    }
  }
  return runs;
}

function segmentOf(module: Buffer, { segments, end }: Run): Buffer {
  const address = segments[0]?.address ?? 0;
  const head = [ACTIVE, I32_CONST, ...signedBytes(address | 0), END, ...unsignedBytes(end - address)];
  const segment = Buffer.alloc(head.length + end - address);
  segment.set(head);
  for (const one of segments) module.copy(segment, head.length + one.address - address, one.from, one.to);
  return segment;
}
