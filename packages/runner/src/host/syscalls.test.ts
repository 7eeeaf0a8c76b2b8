import { closeSync, fstatSync, readFileSync, writeSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { SystemCallError, sealedCopy } from "./syscalls.ts";

test("a sealed copy has its content, and cannot be written to", () => {
  const fd = sealedCopy("program", Buffer.from("content"));
  onTestFinished(() => closeSync(fd));
  expect(readFileSync(`/proc/self/fd/${fd}`, "utf8")).toBe("content");
  expect(() => writeSync(fd, "other", 0)).toThrow("EPERM");
  expect(fstatSync(fd).size).toBe(7);
});

test("a file in memory that cannot be made is an error with the system's code", () => {
  // memfd_create(2) accepts names of 249 bytes.
  const copy = (): number => sealedCopy("x".repeat(250), Buffer.from("content"));
  expect(copy).toThrow(SystemCallError);
  expect(copy).toThrow(expect.objectContaining({ code: "EINVAL", retryable: false }));
});
