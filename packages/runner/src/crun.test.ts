import { expect, test } from "vitest";
import { findRuntime } from "./crun.ts";

test("a missing runtime is an error that names the way to install it", () => {
  const find = (): string => findRuntime("no-such-runtime", "");
  expect(find).toThrow(expect.objectContaining({ code: "RuntimeMissing", retryable: false }));
  expect(find).toThrow(/install/);
});

test("relative directories of PATH are not searched: a program there belongs to whoever owns the folder", () => {
  expect(findRuntime("sh", ".:bin:/bin")).toBe("/bin/sh");
});
