import { expect, test } from "vitest";
import { isUndelivered } from "./error-codes.ts";
import { RunnerError } from "./runner-error.ts";

test.each([
  [{ retryable: true, undelivered: true }, true],
  [{ retryable: false, undelivered: true }, false],
  [{ retryable: true }, false],
  [{ retryable: true, undelivered: "yes" }, false],
  [{ code: "QueueFull", retryable: true }, true],
  [{ code: "TooManyServers", retryable: true }, true],
  [{ code: "Unavailable", retryable: true }, false],
  [new RunnerError("PullFailed", "away", { phase: "pull" }), true],
  [new RunnerError("PullFailed", "no such image", { phase: "pull", retryable: false }), false],
  [new RunnerError("ImageInvalid", "no manifest", { phase: "pull" }), false],
  [new RunnerError("Killed", "killed", { phase: "run" }), false],
  [new RunnerError("Timeout", "slow", { phase: "timeout" }), false],
  [new Error("x"), false],
  [undefined, false],
  ["text", false],
])("whether a function cannot have started after %o is %s", (error, undelivered) => {
  expect(isUndelivered(error)).toBe(undelivered);
});
