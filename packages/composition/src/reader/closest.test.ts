import { expect, test } from "vitest";
import { closest } from "./closest.ts";

const fields = ["image", "imagePullPolicy", "timeout", "network", "name", "type"];

test.each([
  ["imgae", "image"],
  ["Timeout", "timeout"],
  ["timeouts", "timeout"],
  ["imagepullpolicy", "imagePullPolicy"],
  ["netwrk", "network"],
  ["nam", "name"],
  ["typ", "type"],
])("%s probably means %s", (word, meant) => {
  expect(closest(word, fields)).toBe(meant);
});

test("hostile: an endless word is not compared", () => {
  const untouchable = {
    [Symbol.iterator]: (): Iterator<string> => {
      throw new Error("compared");
    },
  };
  expect(closest("a".repeat(1_000_000), untouchable)).toBeUndefined();
});

test.each(["x", "to", "volumes"])("nothing is close to %s", (word) => {
  expect(closest(word, fields)).toBeUndefined();
});
