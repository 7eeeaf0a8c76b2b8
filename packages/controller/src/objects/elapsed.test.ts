import { expect, test } from "vitest";
import { hasElapsed } from "./elapsed.ts";

test.each([
  [0, false],
  [9, false],
  [10, true],
  [-1, true],
])("after %d of 10 ms: %s", (passed, elapsed) => {
  expect(hasElapsed(1_000, 1_000 + passed, 10)).toBe(elapsed);
});
