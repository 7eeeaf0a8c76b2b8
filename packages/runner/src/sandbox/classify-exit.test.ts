import { ImageError } from "@xfn/oci-rootfs";
import type { RunnerError } from "@xfn/runner-contract";
import { expect, test } from "vitest";
import type { LimitHits } from "../cgroup/limit-cgroup.ts";
import { NO_HITS } from "../cgroup/limit-cgroup.ts";
import type { Ending } from "./classify-exit.ts";
import { classifyExit, describeFailure } from "./classify-exit.ts";
import type { Exit } from "./sandbox-host.ts";

function classified(
  exit: Partial<Exit>,
  { hits = {}, reason, stderr = "" }: { hits?: Partial<LimitHits>; reason?: Ending["reason"]; stderr?: string } = {},
): RunnerError | undefined {
  const whole = { mayHaveRun: true, code: 0, runtimeError: null, diskFull: false, at: 0, ...exit };
  return classifyExit(whole, reason, { ...NO_HITS, ...hits }, stderr, { timeoutMs: 1000, memoryBytes: 4096, pids: 8 });
}

const everything = { outOfMemory: true, tooManyProcesses: true };

test("a function that hit its limits and still answered has succeeded", () => {
  const said = { hits: everything, stderr: "sh: 1: Cannot fork" };
  expect(classified({ code: 0, diskFull: true, runtimeError: "a warning" }, said)).toBeUndefined();
});

test.each([
  ["memory", { code: 137 }, { hits: { outOfMemory: true } }, "OutOfMemory"],
  ["memory, crun killed with it", { code: null }, { hits: { outOfMemory: true } }, "OutOfMemory"],
  ["memory, if only the function's parent failed", { code: 1 }, { hits: { outOfMemory: true } }, "OutOfMemory"],
  ["memory before processes and disk", { code: 1, diskFull: true }, { hits: everything }, "OutOfMemory"],
  ["processes", { code: 2 }, { hits: { tooManyProcesses: true } }, "TooManyProcesses"],
  [
    "processes, too few to start",
    { code: 1, runtimeError: "clone: EAGAIN" },
    { hits: { tooManyProcesses: true } },
    "TooManyProcesses",
  ],
  ["disk", { code: 1, diskFull: true }, {}, "DiskFull"],
  ["disk, under a mapped file (SIGBUS)", { code: 128 + 7, diskFull: true }, {}, "DiskFull"],
  ["a foreign kill, with a full disk", { code: 137, diskFull: true }, {}, "Killed"],
  ["its container", { code: 1, runtimeError: "no such file", diskFull: true }, {}, "StartFailed"],
  ["itself", { code: 7 }, { stderr: "read: Resource temporarily unavailable" }, "NonZeroExit"],
  [
    "time, even if other limits were hit",
    { code: 137, diskFull: true },
    { hits: everything, reason: "Timeout" as const },
    "Timeout",
  ],
])("reports what ended the function: %s", (_, exit, rest, code) => {
  expect(classified(exit, rest)?.code).toBe(code);
});

test.each([
  "sh: 1: Cannot fork",
  "sh: can't fork: Resource temporarily unavailable",
  "bash: fork: retry: Resource temporarily unavailable",
  "Error: spawn /bin/ls EAGAIN",
  "RuntimeError: can't start new thread",
  "runtime: failed to create new OS thread (have 5 already; errno=11)",
  "java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory or process/resource limits reached",
  "fork/exec /bin/ls: resource temporarily unavailable",
])("recognises a refused process in stderr if no cgroup counts processes: %s", (stderr) => {
  expect(classified({ code: 1 }, { stderr })?.code).toBe("TooManyProcesses");
});

test("a limit's error names the limit, keeps the exit code, and is not retryable", () => {
  const processes = classified({ code: 3 }, { hits: { tooManyProcesses: true } });
  expect(processes).toMatchObject({ phase: "run", exitCode: 3, retryable: false });
  expect(processes?.message).toContain("8");
  const disk = classified({ code: 4, diskFull: true });
  expect(disk).toMatchObject({ phase: "run", exitCode: 4, retryable: false });
  expect(disk?.message).toContain("256 MiB");
});

test.each([
  [new ImageError("NotFound", "no such tag", { image: "a/b:v1" }), "function a/b:v1 (step one): no such tag"],
  [
    new ImageError("DigestMismatch", "the content differs", { image: "a/b:v1", layer: 0 }),
    "function a/b:v1 (step one): layer 0: the content differs",
  ],
  [new ImageError("NotFound", "gone", { image: "a/b:v12" }), "function a/b:v1 (step one): a/b:v12: gone"],
  [new ImageError("RegistryUnavailable", "no answer"), "function a/b:v1 (step one): no answer"],
])("an error about an image names it once: %s", (error, message) => {
  expect(describeFailure(error, "a/b:v1", { step: "one" }).message).toBe(message);
});
