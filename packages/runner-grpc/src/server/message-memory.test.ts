import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MessageMemory } from "./message-memory.ts";

const MEGABYTE = 1024 * 1024;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("the memory of a message is used again for the next one of about its size, and only once", () => {
  const memory = new MessageMemory(100 * MEGABYTE);
  const first = memory.take(4 * MEGABYTE);
  memory.release(first);
  const small = memory.take(MEGABYTE);
  const large = memory.take(5 * MEGABYTE);
  const next = memory.take(3 * MEGABYTE);
  const another = memory.take(3 * MEGABYTE);
  expect(next.buffer).toBe(first.buffer);
  expect(next.length).toBe(3 * MEGABYTE);
  for (const other of [small, large, another]) expect(other.buffer).not.toBe(first.buffer);
  // The whole memory is available again, not only the part that was taken.
  memory.release(next);
  expect(memory.take(4 * MEGABYTE).buffer).toBe(first.buffer);
});

test("it is freed after a second without a message", () => {
  const memory = new MessageMemory(100 * MEGABYTE);
  const first = memory.take(4 * MEGABYTE);
  memory.release(first);
  vi.advanceTimersByTime(1_000);
  expect(memory.take(4 * MEGABYTE).buffer).not.toBe(first.buffer);
});

test("only the largest memory within the bound is kept", () => {
  const memory = new MessageMemory(8 * MEGABYTE);
  const [small, medium, large] = [3, 4, 9].map((megabytes) => memory.take(megabytes * MEGABYTE)) as [
    Buffer,
    Buffer,
    Buffer,
  ];
  for (const taken of [medium, large, small]) memory.release(taken);
  expect(memory.take(3 * MEGABYTE).buffer).toBe(medium.buffer);
  expect(memory.take(3 * MEGABYTE).buffer).not.toBe(small.buffer);
  expect(memory.take(9 * MEGABYTE).buffer).not.toBe(large.buffer);
});

test("the memory of outputs is kept as far as the last output filled it", () => {
  const memory = new MessageMemory(100 * MEGABYTE);
  const output = new ArrayBuffer(9 * MEGABYTE, { maxByteLength: 16 * MEGABYTE });
  memory.releaseOutput(new Uint8Array(output, 0, 4.5 * MEGABYTE));
  // Memory of a fixed size cannot be reused for the next output.
  memory.releaseOutput(new Uint8Array(20 * MEGABYTE));
  expect(memory.takeOutput()).toBe(output);
  expect(output.byteLength).toBe(5 * MEGABYTE);
  expect(memory.takeOutput()).toBeUndefined();
  memory.releaseOutput(new Uint8Array(output, 0, 10));
  expect(memory.takeOutput()?.byteLength).toBe(MEGABYTE);
  memory.releaseOutput(new Uint8Array(output));
  vi.advanceTimersByTime(1_000);
  expect(memory.takeOutput()).toBeUndefined();
});
