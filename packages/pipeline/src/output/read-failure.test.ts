import { ThreadError } from "@xfn/oci-rootfs/threads";
import { expect, test } from "vitest";
import { readFailure } from "./read-failure.ts";

test.each([
  ["OutOfMemory", "InvalidOutput", false],
  ["NotStarted", "RunFailed", true],
  ["Exited", "RunFailed", false],
] as const)("a thread that fails with %s fails the step with %s", (code, expected, retryable) => {
  const failure = readFailure(new ThreadError(code, "why", undefined));
  expect(failure).toMatchObject({ code: expected, retryable });
});

test("an error of another kind stays as it is", () => {
  expect(readFailure(new TypeError("a defect"))).toBeUndefined();
});
