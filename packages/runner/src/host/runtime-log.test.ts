import { mkdirSync, writeFileSync } from "node:fs";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { sandboxPaths } from "./protocol.ts";
import { runtimeError } from "./runtime-log.ts";

let scratch: string;
beforeEach(() => {
  scratch = temporaryFolder();
  mkdirSync(sandboxPaths(scratch, "a").call, { recursive: true });
});

const log = (...lines: string[]): void =>
  writeFileSync(sandboxPaths(scratch, "a").log, lines.map((line) => `${line}\n`).join(""));

test("reports no error without a log, for any exit code of the function", () => {
  writeFileSync(sandboxPaths(scratch, "a").pidFile, "17");
  expect(runtimeError(scratch, "a", 1)).toBeNull();
  expect(runtimeError(scratch, "a", 0)).toBeNull();
});

test("reports errors without time stamps, and ignores warnings", () => {
  log(
    '{"msg": "unknown seccomp syscall", "level": "warning", "time": "2026-01-01T00:00:00Z"}',
    '{"msg": "executable file not found", "level": "error", "time": "2026-01-01T00:00:00Z"}',
  );
  expect(runtimeError(scratch, "a", 1)).toBe("executable file not found");
});

test("reports a shell's message about a cgroup that it cannot join", () => {
  log("sh: 1: cannot create /sys/fs/cgroup/x/cgroup.procs: Directory nonexistent");
  expect(runtimeError(scratch, "a", 1)).toContain("cannot create");
});

test("blames a runtime that failed before it made a process, even without a log", () => {
  expect(runtimeError(scratch, "a", 1)).toContain("code 1");
  expect(runtimeError(scratch, "a", 0)).toBeNull();
  expect(runtimeError(scratch, "a", null)).toBeNull();
});
