import { readFileSync } from "node:fs";
import koffi from "koffi";
import { describe, expect, test } from "vitest";
import { MemoryPages } from "./memory-pages.ts";

const MIB = 1024 * 1024;
const PAGES_PER_MIB = 16;
const SMALL_PAGE = 4096;

/** The page faults from writing to each page of 4 KiB, without those of the process's other threads. */
function faultsOf(memory: WebAssembly.Memory): number {
  const bytes = new Uint8Array(memory.buffer);
  const before = faultsOfThread();
  for (let at = 0; at < bytes.length; at += SMALL_PAGE) bytes[at] = 1;
  return faultsOfThread() - before;
}

/** The tenth field of proc_pid_stat(5). The second one, in parentheses, may contain spaces. */
function faultsOfThread(): number {
  const [, fields = ""] = readFileSync("/proc/thread-self/stat", "utf8").split(") ");
  return Number(fields.split(" ")[7]);
}

function memoryOf(mebibytes: number): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: mebibytes * PAGES_PER_MIB });
}

function grow(memory: WebAssembly.Memory, mebibytes: number): void {
  (memory as unknown as { grow(pages: number): number }).grow(mebibytes * PAGES_PER_MIB);
}

describe.runIf(process.platform === "linux")("the pages of a memory", () => {
  const pages = (): MemoryPages => new MemoryPages(64 * MIB);

  test("are there before an instance uses them, and empty", () => {
    const memory = memoryOf(8);
    pages().prepare(memory.buffer);
    expect(memory.buffer.byteLength).toBe(8 * MIB);
    expect(Buffer.from(memory.buffer).equals(Buffer.alloc(8 * MIB))).toBe(true);
    // Without preparation there are 2,048.
    expect(faultsOf(memory)).toBeLessThan(1024);
  });

  test("are prepared up to the size of the last memory, but out of reach until it grows", () => {
    const prepared = pages();
    const last = memoryOf(3);
    grow(last, 5);
    prepared.release(last.buffer);
    const memory = memoryOf(3);
    prepared.prepare(memory.buffer);
    expect(memory.buffer.byteLength).toBe(3 * MIB);
    expect(() => readAt(memory, 3 * MIB)).toThrow(/out of bounds/);
    grow(memory, 5);
    expect(Buffer.from(memory.buffer).equals(Buffer.alloc(8 * MIB))).toBe(true);
    expect(faultsOf(memory)).toBeLessThan(1024);
    expect(() => readAt(memory, 8 * MIB)).toThrow(/out of bounds/);
  });

  test("are empty when the memory is released", () => {
    const memory = memoryOf(2);
    Buffer.from(memory.buffer).fill(1);
    pages().release(memory.buffer);
    expect(Buffer.from(memory.buffer).equals(Buffer.alloc(2 * MIB))).toBe(true);
  });

  test("are freed with those prepared behind it, which V8 does not count", () => {
    const prepared = pages();
    // Nothing is prepared after a first memory that ends where a huge page ends, as one memory in 32 does.
    const last = memoryOf(1 / PAGES_PER_MIB);
    grow(last, 8);
    prepared.release(last.buffer);
    const memory = memoryOf(1 / PAGES_PER_MIB);
    prepared.prepare(memory.buffer);
    expect(residentBytes(memory)).toBeGreaterThan(memory.buffer.byteLength);
    prepared.release(memory.buffer);
    expect(residentBytes(memory)).toBe(0);
  });

  test.each([0, 1 / PAGES_PER_MIB, 40])("of a memory of %d MiB can all be used", (mebibytes) => {
    const memory = memoryOf(mebibytes);
    pages().prepare(memory.buffer);
    faultsOf(memory);
    const lastPage = Buffer.from(memory.buffer).subarray(-SMALL_PAGE);
    expect(lastPage.at(0)).toBe(mebibytes === 0 ? undefined : 1);
  });
});

/** The resident size of a memory's first 64 MiB of addresses. */
function residentBytes(memory: WebAssembly.Memory): number {
  const first = koffi.address(memory.buffer);
  const end = first + BigInt(64 * MIB);
  let isWithin = false;
  let kibibytes = 0;
  for (const line of readFileSync("/proc/self/smaps", "utf8").split("\n")) {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) /.exec(line) ?? [];
    if (from !== undefined) isWithin = BigInt(`0x${from}`) < end && BigInt(`0x${to}`) > first;
    else if (isWithin) kibibytes += Number(/^Rss: +(\d+) kB/.exec(line)?.[1] ?? 0);
  }
  return kibibytes * 1024;
}

/** Reads a byte as an instance does. */
function readAt(memory: WebAssembly.Memory, address: number): void {
  // The function "f" loads the byte at its argument from the memory "a"."m".
  const hex = "01050160017f00020801016101" + "6d02000103020100070501016600000a0a01080020002d00001a0b";
  const bytes = Buffer.concat([Buffer.from("\0asm\x01\0\0\0"), Buffer.from(hex, "hex")]);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), { a: { m: memory } });
  (instance.exports["f"] as (address: number) => void)(address);
}
