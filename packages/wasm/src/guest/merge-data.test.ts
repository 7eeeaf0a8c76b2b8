import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readSigned, readUnsigned, signedBytes, unsignedBytes } from "./leb128.ts";
import { loadModule } from "./load-module.ts";
import { mergeData } from "./merge-data.ts";

/** A data segment: its address, and its bytes. */
type Segment = readonly [address: number, content: readonly number[]];

const PAGE = 65_536;

/** Parts of a module that differ from an ordinary one. */
interface Parts {
  /** The flags and the size of the memory. */
  readonly memory?: readonly number[];
  /** The encoded entries of the data section. */
  readonly data: readonly (readonly number[])[];
  /** The number of entries that the section claims to have. */
  readonly count?: number;
  /** Sections before the code, and after the data. */
  readonly before?: readonly number[];
  readonly behind?: readonly number[];
}

const section = (id: number, content: readonly number[]): number[] => [
  id,
  ...unsignedBytes(content.length),
  ...content,
];

/** A module with one page of memory, and a `_start` that does nothing. */
function moduleOf({ memory = [0, 1], data, count = data.length, before = [], behind = [] }: Parts): Buffer {
  const name = (text: string): number[] => [text.length, ...Buffer.from(text)];
  return Buffer.from([
    ...Buffer.from("\0asm\x01\0\0\0"),
    ...section(1, [1, 0x60, 0, 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, ...memory]),
    ...section(7, [2, ...name("memory"), 2, 0, ...name("_start"), 0, 0]),
    ...before,
    ...section(10, [1, 2, 0, 0x0b]),
    ...section(11, [...unsignedBytes(count), ...data.flat()]),
    ...behind,
  ]);
}

const active = ([address, content]: Segment): number[] => [
  0,
  0x41,
  ...signedBytes(address | 0),
  0x0b,
  ...unsignedBytes(content.length),
  ...content,
];
const passive = (content: readonly number[]): number[] => [1, content.length, ...content];
const bytes = (length: number, value = 1): number[] => Array.from({ length }, () => value);

/** The memory of an instance, or the reason why there is no instance. */
function memoryOf(module: Buffer): Buffer | string {
  try {
    const { memory } = new WebAssembly.Instance(new WebAssembly.Module(module), {}).exports;
    return memory instanceof WebAssembly.Memory ? Buffer.from(memory.buffer) : "no memory";
  } catch (error) {
    return String(error);
  }
}

/** The number of data segments of a module. */
function segmentsOf(module: Buffer): number {
  for (let at = 8; at < module.length; ) {
    const size = readUnsigned(module, at + 1);
    if (size === undefined) break;
    if (module[at] === 11) return readUnsigned(module, size.next)?.value ?? 0;
    at = size.next + size.value;
  }
  return 0;
}

describe("segments of a module", () => {
  test("become one where at most 64 zeros are between them, in any order", () => {
    const near: Segment[] = [
      [1000, bytes(100)],
      [100, bytes(500, 2)],
      [1100, bytes(100, 3)],
      [600, []],
      [1264, bytes(100, 4)],
      [1429, bytes(100, 5)],
    ];
    const module = moduleOf({ data: near.map(active), behind: section(0, [1, 97, 98]) });
    const merged = mergeData(module);
    expect(segmentsOf(merged)).toBe(3);
    expect(memoryOf(merged)).toEqual(memoryOf(module));
    expect(merged.subarray(-5)).toEqual(module.subarray(-5));
  });

  test("become one beyond 2 GiB", () => {
    const far = { memory: [0, ...unsignedBytes(65_536)], data: [active([-100, [1]]), active([-99, [2]])] };
    expect(mergeData(moduleOf(far))).toEqual(moduleOf({ ...far, data: [active([-100, [1, 2]])] }));
  });

  test("never make a module more than a quarter larger", () => {
    const module = moduleOf({ data: Array.from({ length: 900 }, (_, index) => active([index * 65, [1]])) });
    const merged = mergeData(module);
    expect(merged.length).toBeLessThanOrEqual(module.length * 1.25);
    expect(segmentsOf(merged)).toBeLessThan(900);
    expect(memoryOf(merged)).toEqual(memoryOf(module));
  });

  const two = [active([8, [1]]), active([9, [2]])];
  test.each<[string, Parts]>([
    ["overlap, so that the last one wins", { data: [active([8, [1, 1]]), active([9, [2]])] }],
    ["end outside the memory", { data: [active([PAGE - 3, [1]]), active([PAGE - 2, [2, 2, 2]])] }],
    ["have a negative address", { data: [active([8, [1]]), active([-2, [2]])] }],
    ["are passive", { data: [...two, passive([1])] }],
    ["have a computed address", { data: [...two, [0, 0x41, 1, 0x41, 1, 0x6a, 0x0b, 1, 9]] }],
    ["have the address of a global", { data: [...two, [0, 0x23, 16, 0x0b, 1, 9]] }],
    ["have an address without end", { data: [...two, [0, 0x41, 32, 0x0c, 1, 9]] }],
    ["name a memory", { data: [...two, [2, 0, 0x41, 32, 0x0b, 1, 9]] }],
    ["are counted before the code", { data: two, before: section(12, [2]) }],
    ["are fewer than the count", { data: two, count: 3 }],
    ["are more than the count", { data: [...two, active([10, [3]])], count: 2 }],
    ["are cut off", { data: [...two, [0, 0x41, 32, 0x0b, 100, 9]] }],
    ["are in a memory of 64 bits", { memory: [4, 1], data: two }],
    ["are in a shared memory", { memory: [3, 1, 1], data: two }],
    ["are in two sections", { data: two, behind: section(11, [1, ...active([32, [1]])]) }],
    ["are before a section that is cut off", { data: two, behind: [0, 5, 1, 97] }],
    ["are too many for V8", { data: Array.from({ length: 100_001 }, () => active([8, []])) }],
  ])("stay as they are if they %s", (_, parts) => {
    const module = moduleOf(parts);
    expect(mergeData(module)).toBe(module);
  });

  test("of a module that V8 refuses for another reason leave its message", () => {
    const module = moduleOf({ data: two, behind: section(10, [1, 2, 0, 0x0b]) });
    expect(mergeData(module)).not.toBe(module);
    const [, message = ""] = /Error: WebAssembly\.Module\(\): (.*)/.exec(String(memoryOf(module))) ?? [];
    expect(message).toMatch(/@\+\d+/);
    expect(() => loadModule(module)).toThrow(message);
  });

  test("always give the same memory or the same error", () => {
    const content = fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 80 });
    const address = fc.oneof(fc.nat(700), fc.constantFrom(-1, PAGE - 1, PAGE, 2 ** 31 - 1, -(2 ** 31)));
    const data = fc.array(fc.tuple(address, content), { maxLength: 6 });
    const flip = fc.option(fc.tuple(fc.nat(200), fc.nat(255)), { freq: 2 });
    fc.assert(
      fc.property(data, flip, (segments, changed) => {
        const module = moduleOf({ data: segments.map(active) });
        if (changed !== null) module[module.length - 1 - (changed[0] % (module.length - 8))] = changed[1];
        const merged = mergeData(module);
        const [after, before] = [memoryOf(merged), memoryOf(module)];
        expect(typeof after).toBe(typeof before);
        if (merged !== module && typeof before !== "string") expect(after).toEqual(before);
      }),
      { numRuns: 500, seed: 20_261_126 },
    );
  });
});

describe("integers", () => {
  test.each([0, 1, 63, 64, 127, 128, 16_383, 16_384, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1])(
    "%d is read as written",
    (n) => {
      const unsigned = unsignedBytes(n);
      expect(readUnsigned(Buffer.from(unsigned), 0)).toEqual({ value: n, next: unsigned.length });
      for (const value of [n | 0, -n | 0]) {
        const signed = signedBytes(value);
        expect(readSigned(Buffer.from(signed), 0)).toEqual({ value, next: signed.length });
      }
    },
  );

  test.each([
    ["of six bytes", [0xa0, 0x80, 0x80, 0x80, 0x80, 0x00]],
    ["of more than 32 bits", [0xa0, 0x80, 0x80, 0x80, 0x18]],
    ["that are cut off", [0xa0]],
  ])("%s are none", (_, encoded) => {
    expect(readUnsigned(Buffer.from(encoded), 0)).toBeUndefined();
    expect(readSigned(Buffer.from(encoded), 0)).toBeUndefined();
  });
});
