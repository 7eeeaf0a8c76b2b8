import { InputError } from "@xfn/input";
import { expect, test } from "vitest";
import { CliError, usageError } from "../errors/cli-error.ts";
import { describeError } from "./describe-error.ts";
import { functionStderr } from "./function-stderr.ts";
import { InterruptedError } from "./interrupt.ts";

test("wrong usage and wrong input exit with 2, a failed run with 1, an interrupt with 128 + the signal", () => {
  expect(describeError(usageError("no"), false).exitCode).toBe(2);
  expect(describeError(new InputError("no"), false).exitCode).toBe(2);
  expect(describeError(new Error("no"), false).exitCode).toBe(1);
  expect(describeError(new InterruptedError("SIGTERM"), false).exitCode).toBe(143);
});

test("prints one message without a stack trace", () => {
  expect(describeError(new TypeError("went wrong"), false).lines).toEqual(["xfn: went wrong"]);
});

test("adds stack traces of the error and its cause with debug", () => {
  const lines = describeError(new Error("outer", { cause: new Error("inner") }), true).lines.join("\n");
  expect(lines).toMatch(/outer\n.*at /s);
  expect(lines).toMatch(/caused by\nError: inner/);
});

test("a message from an image cannot move the cursor", () => {
  const lines = describeError(new Error("bad image \u001b[2K\u001b[1Aok"), false).lines;
  expect(lines.join("\n")).not.toContain("\u001b");
});

test("escapes the stack of a hostile message too", () => {
  expect(describeError(new Error("\u001b[2J"), true).lines.join("\n")).not.toContain("\u001b");
});

test("shows a function's stderr, line by line and escaped", () => {
  const error = Object.assign(new Error("step a: exited with code 3"), { stderr: "one\n\u001b[31mtwo\n" });
  expect(describeError(error, false).lines).toEqual([
    "xfn: step a: exited with code 3",
    "the function's stderr:",
    "  | one",
    "  | \\x1b[31mtwo",
  ]);
});

test("shows the end of a long stderr, and the hint after it", () => {
  const stderr = Array.from({ length: 40 }, (_, line) => `line ${line}`).join("\n");
  const error = new CliError("Failed", "step a failed", { details: [...functionStderr(stderr), "hint"] });
  expect(describeError(error, false).lines.slice(-3)).toEqual(["  | line 38", "  | line 39", "hint"]);
});

test("keeps file:line:column of faults in the first column", () => {
  const error = new InputError("c.yaml cannot be used", {
    details: ["c.yaml:7:5: spec: is required", "c.yaml:9:1: kind: is missing"],
  });
  expect(describeError(error, false).lines).toEqual([
    "xfn: c.yaml cannot be used",
    "c.yaml:7:5: spec: is required",
    "c.yaml:9:1: kind: is missing",
  ]);
});

test("shows the first of a thousand faults", () => {
  const details = Array.from({ length: 1000 }, (_, line) => `f:${line}:1: bad`);
  const { lines } = describeError(new InputError("f cannot be used", { details }), false);
  expect(lines).toHaveLength(22);
  expect(lines.at(-1)).toBe("... and 980 more");
});

test("an error without a message, such as a closed stdout, prints nothing", () => {
  expect(describeError(usageError(""), false).lines).toEqual([]);
});

const full = Object.assign(new Error("write failed"), { code: "ENOSPC" });
const cyclic = new Error("outer", { cause: new Error("inner") });
(cyclic.cause as Error).cause = cyclic;

test.each<[string, unknown]>([
  ["its code", full],
  ["a quota", Object.assign(new Error("write failed"), { code: "EDQUOT" })],
  ["the cause of a cause", new Error("outer", { cause: new Error("inner", { cause: full }) })],
  ["a cause that is data of another thread", { message: "write failed", code: "ENOSPC" }],
  ["one of several errors", new AggregateError([cyclic, full], "both failed")],
])("a full disk, known by %s, is one line with the way out, without other advice", (_, cause) => {
  const details = ["`xfn build DIR -t f` builds an image of that name"];
  const { lines } = describeError(new CliError("Failed", "step a: cannot store f", { details, cause }), false);
  expect(lines).toEqual([expect.stringMatching(/^xfn: step a: cannot store f: no space left.*xfn images prune/)]);
});

test.each<[string, unknown]>([
  ["a function or a server says so", new Error("step a: the bucket has no space left on device (ENOSPC)")],
  ["its causes form a cycle", cyclic],
])("an error is none of a full disk although %s", (_, error) => {
  expect(describeError(error, false).lines.join()).not.toContain("images prune");
});

test("a function's message about a full disk is not about this machine", () => {
  const error = Object.assign(new Error("step a: exited with code 3"), { stderr: "ENOSPC: no space left on device" });
  expect(describeError(error, false).lines[0]).toBe("xfn: step a: exited with code 3");
});
