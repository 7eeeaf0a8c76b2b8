import { expect, test } from "vitest";
import { OutputBuffer } from "./output-buffer.ts";

test("returns all written bytes in order", () => {
  const output = new OutputBuffer(10_000_000);
  const all: Buffer[] = [];
  for (let part = 0; part < 200; part++) {
    const bytes = Buffer.alloc(1 + part * 173, part);
    for (let rest = bytes; rest.length > 0; ) {
      const copied = rest.copy(output.space());
      output.add(copied);
      rest = rest.subarray(copied);
    }
    all.push(bytes);
  }
  expect(output.bytes().equals(Buffer.concat(all))).toBe(true);
  expect(output.size).toBe(Buffer.concat(all).length);
});

test("is empty at first, and after clear", () => {
  const output = new OutputBuffer(10_000_000);
  expect(output.bytes().length).toBe(0);
  output.space();
  output.add(10);
  output.clear();
  expect(output.bytes().length).toBe(0);
});

test("a large output takes the memory of an earlier one with the same capacity, and shows nothing of it", () => {
  const write = (output: OutputBuffer, letter: string): void => {
    for (let rest = 3_000_000; rest > 0; ) {
      const space = output.space();
      const bytes = Math.min(rest, space.length, 50_000);
      space.fill(letter, 0, bytes);
      output.add(bytes);
      rest -= bytes;
    }
  };
  const earlier = new OutputBuffer(10_000_000);
  write(earlier, "a");
  write(earlier, "a");
  const memory = earlier.bytes().buffer as ArrayBuffer;

  const small = new OutputBuffer(10_000_000, () => expect.unreachable());
  small.space().fill("b", 0, 1000);
  small.add(1000);
  expect(small.bytes().toString()).toBe("b".repeat(1000));

  const next = new OutputBuffer(10_000_000, () => memory);
  write(next, "c");
  expect(next.bytes().buffer).toBe(memory);
  expect(next.bytes().toString()).toBe("c".repeat(3_000_000));

  const other = new OutputBuffer(20_000_000, () => memory);
  write(other, "d");
  expect(other.bytes().buffer).not.toBe(memory);
  expect(next.bytes().toString()).toBe("c".repeat(3_000_000));
});
