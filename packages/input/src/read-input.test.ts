import { Readable } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { readInput, STDIN } from "./read-input.ts";

afterEach(() => vi.restoreAllMocks());

test.each([
  [true, 1],
  [false, 0],
])("says that it reads stdin if that is a terminal (%s)", async (isTTY, notes) => {
  const stdin = Object.assign(Readable.from([Buffer.from("a: 1")]), { isTTY });
  vi.spyOn(process, "stdin", "get").mockReturnValue(stdin as unknown as typeof process.stdin);
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  expect(String(await readInput(STDIN))).toBe("a: 1");
  expect(write).toHaveBeenCalledTimes(notes);
});
