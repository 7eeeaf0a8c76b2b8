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

test.each(["x", "to", "volumes", "a".repeat(100_000)])("nothing is close to %s", (word) => {
  expect(closest(word, fields)).toBeUndefined();
});
