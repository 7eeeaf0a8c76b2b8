import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { canLaunch, cString, LAUNCH_FAILED, launcherProgram, type SystemCall } from "./launcher.ts";

describe.skipIf(!canLaunch())("a launcher", () => {
  const ok: SystemCall = { name: "getpid", arguments: [] };
  const failing: SystemCall = { name: "chdir", arguments: [cString("/no/such/folder")] };

  test("executes a program with its arguments and environment", () => {
    const argv = [cString("sh"), cString("-c"), cString('echo "$A"; pwd'), 0];
    const { stdout, status } = run([
      { name: "chdir", arguments: [cString("/")] },
      { name: "execve", arguments: [cString("/bin/sh"), argv, [cString("A=a b"), 0]] },
    ]);
    expect({ stdout, status }).toEqual({ stdout: "a b\n/\n", status: 0 });
  });

  test("ends at the first call that fails, and reports it with its error", () => {
    const { status, report } = run([ok, failing, { name: "exit_group", arguments: [0] }]);
    expect(status).toBe(LAUNCH_FAILED);
    expect([report.readUInt32LE(0), report.readUInt32LE(4)]).toEqual([2, 1]);
  });

  test("goes on after a call that may fail", () => {
    const { status, report } = run([
      { ...failing, mayFail: true },
      { name: "exit_group", arguments: [7] },
    ]);
    expect({ status, bytes: report.length }).toEqual({ status: 7, bytes: 0 });
  });

  test("cannot have a text with a NUL, or an unknown call", () => {
    expect(() => cString("a\0b")).toThrow(TypeError);
    expect(() => launcherProgram([{ name: "no_such_call", arguments: [] }])).toThrow(/no_such_call/);
  });
});

test("there is one for x64 only", () => {
  expect([canLaunch("arm64"), canLaunch("riscv64")]).toEqual([false, false]);
});

/** Runs a launcher with a pipe as its report descriptor. */
function run(calls: readonly SystemCall[]): { stdout: string; status: number | null; report: Buffer } {
  const folder = temporaryFolder();
  try {
    const path = join(folder, "launcher");
    writeFileSync(path, launcherProgram(calls), { mode: 0o755 });
    const { output, status } = spawnSync(path, { stdio: ["ignore", "pipe", "pipe", "pipe"] });
    const [, stdout, , report] = output as (Buffer | null)[];
    return { stdout: String(stdout), status, report: report ?? Buffer.alloc(0) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
