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
