import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { PAGE_BYTES } from "../protocol/limits.ts";
import { importMemory, MEMORY_IMPORT } from "./import-memory.ts";
import { unsignedBytes } from "./leb128.ts";
import { InvalidModuleError, loadModule } from "./load-module.ts";
import { MemoryPages } from "./memory-pages.ts";
import { runInstance } from "./run-instance.ts";
import { StandardStreams } from "./standard-streams.ts";

/** Parts of a module that differ from an ordinary one. */
interface Parts {
  readonly imports?: readonly (readonly number[])[];
  /** The flags and the size of each memory. */
  readonly memories?: readonly (readonly number[])[];
  /** The sections of the memories, in place of `memories`. */
  readonly memorySections?: readonly number[];
  /** The number of copies of the data, one after the other. Default 1. */
  readonly copies?: number;
  /** Sections after the code. */
  readonly behind?: readonly number[];
}

const name = (text: string): number[] => [text.length, ...Buffer.from(text)];
const section = (id: number, content: readonly number[]): number[] => [
  id,
  ...unsignedBytes(content.length),
  ...content,
];
const memoriesOf = (memories: readonly (readonly number[])[]): number[] =>
  section(5, [memories.length, ...memories.flat()]);

const YIELD = [...name("wasi_snapshot_preview1"), ...name("sched_yield"), 0, 0];
const OTHER_MEMORY = [...name(MEMORY_IMPORT.module), ...name(MEMORY_IMPORT.name), 2, 0, 1];

/** A module whose `_start` adds a page to its memory, and which has "hi" at address 8. */
function moduleOf({
  imports = [YIELD],
  memories = [[0, 2]],
  memorySections,
  copies = 1,
  behind = [],
}: Parts = {}): Buffer {
  return Buffer.from([
    ...Buffer.from("\0asm\x01\0\0\0"),
    ...section(1, [2, 0x60, 0, 1, 0x7f, 0x60, 0, 0]),
    ...(imports.length === 0 ? [] : section(2, [imports.length, ...imports.flat()])),
    ...section(3, [1, 1]),
    ...(memorySections ?? memoriesOf(memories)),
    ...section(7, [2, ...name("memory"), 2, 0, ...name("_start"), 0, imports.length === 0 ? 0 : 1]),
    ...section(10, [1, 7, 0, 0x41, 1, 0x40, 0, 0x1a, 0x0b]),
    ...section(11, [1, 0, 0x41, 8, 0x0b, ...unsignedBytes(2 * copies), ...Buffer.from("hi".repeat(copies))]),
    ...behind,
  ]);
}

/** The memory of an instance after `_start`, as text, or "refused" for a module that V8 rejects. */
function memoryAfter(bytes: Buffer, imported?: WebAssembly.Memory): string {
  const host = imported && { [MEMORY_IMPORT.module]: { [MEMORY_IMPORT.name]: imported } };
  try {
    const imports = { wasi_snapshot_preview1: { sched_yield: () => 0 }, ...host };
    const { memory, _start: start } = new WebAssembly.Instance(new WebAssembly.Module(bytes), imports).exports;
    if (!(memory instanceof WebAssembly.Memory) || typeof start !== "function") return "refused";
    if (imported !== undefined) expect(memory).toBe(imported);
    start();
    return Buffer.from(memory.buffer).toString("latin1");
  } catch {
    return "refused";
  }
}

describe("the memory of a module", () => {
  test.each([
    ["without a maximum", [0, 2], { initial: 2 }, 3],
    ["that can grow to its maximum", [1, 2, 3], { initial: 2, maximum: 3 }, 3],
    ["that is as large as it can be", [1, 2, 2], { initial: 2, maximum: 2 }, 2],
  ])("%s is imported, and has the same content and size", (_, memory, type, pagesAtEnd) => {
    const module = moduleOf({ memories: [memory] });
    const imported = importMemory(module);
    expect(imported?.memory).toEqual(type);
    const after = memoryAfter(imported?.bytes ?? module, new WebAssembly.Memory(type));
    expect(after === memoryAfter(module)).toBe(true);
    expect(after).toHaveLength(pagesAtEnd * 65_536);
    expect(after.slice(8, 10)).toBe("hi");
  });

  test.each<[string, Parts]>([
    ["there is no import", { imports: [] }],
    [
      "there are two",
      {
        memories: [
          [0, 1],
          [0, 1],
        ],
      },
    ],
    ["it has 64 bits", { memories: [[4, 1]] }],
    ["it is shared", { memories: [[3, 1, 1]] }],
    ["its size is cut off", { memorySections: section(5, [1, 0, 0x80]) }],
    ["its section is too long", { memorySections: section(5, [1, 0, 1, 0]) }],
    ["its maximum is too small", { memories: [[1, 2, 1]] }],
    ["its section comes twice", { behind: memoriesOf([[0, 1]]) }],
    ["its section comes last", { memorySections: [], behind: memoriesOf([[0, 1]]) }],
  ])("stays as it is if %s", (_, parts) => {
    expect(importMemory(moduleOf(parts))).toBeUndefined();
  });

  test("is not taken from a module that imports one of the same name", () => {
    for (const memories of [[], [[0, 9]]]) {
      const module = moduleOf({ imports: [OTHER_MEMORY, YIELD], memories, copies: 140_000 });
      expect(() => loadModule(module)).toThrow(/memory xfn\.memory/);
    }
  });

  test("is not mixed with a malformed import, of which its own would be the rest", () => {
    const rest = [...name(MEMORY_IMPORT.module), 11];
    const malformed = moduleOf({ imports: [[...YIELD, ...rest]], memories: [[0, 9]], copies: 140_000 });
    expect(memoryAfter(malformed)).toBe("refused");
    expect(() => loadModule(malformed)).toThrow(InvalidModuleError);
  });

  test.runIf(process.platform === "linux")("is freed if the module fails before it starts", () => {
    const loaded = loadModule(moduleOf({ memories: [[0, 1]], copies: 140_000 }));
    const pages = new MemoryPages(PAGE_BYTES);
    const release = vi.spyOn(pages, "release");
    const streams = new StandardStreams({ nextInput: () => Buffer.alloc(0), reportError: () => undefined }, 0);
    const { failure } = runInstance(loaded, streams, pages);
    expect(failure).toMatchObject({ reason: "trap", memoryBytes: PAGE_BYTES });
    expect(release).toHaveBeenCalledOnce();
  });

  test("is imported where the module has much data, and V8 allows its size", () => {
    const copies = 140_000;
    expect(loadModule(moduleOf({ memories: [[0, 9]], copies })).memory).toEqual({ initial: 9 });
    expect(loadModule(moduleOf({ memories: [[0, 9]] })).memory).toBeUndefined();
    const huge = moduleOf({ memories: [[0, ...unsignedBytes(65_537)]], copies });
    expect(() => loadModule(huge)).toThrow(/V8 refuses it/);
  });

  test("is the same for any module, or V8 refuses both", () => {
    const flips = fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { maxLength: 3 });
    fc.assert(
      fc.property(flips, (changes) => {
        const module = moduleOf({ memories: [[1, 1, 4]] });
        for (const [at, value] of changes) module[8 + (at % (module.length - 8))] = value;
        const imported = importMemory(module);
        if (imported === undefined || imported.memory.initial > 100) return;
        const after = memoryAfter(imported.bytes, new WebAssembly.Memory(imported.memory));
        expect(after === memoryAfter(module)).toBe(true);
      }),
      { numRuns: 200, seed: 20_261_126 },
    );
  });
});
