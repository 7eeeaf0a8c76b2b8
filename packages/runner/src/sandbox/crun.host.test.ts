import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { findRuntime, identifyRuntime, knownDefect, runtimeWarning } from "./crun.ts";

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

function program(script: string): string {
  const path = join(folder, "runtime");
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

test("a missing runtime is an error that names the way to install it", () => {
  const find = (): string => findRuntime("no-such-runtime", "");
  expect(find).toThrow(expect.objectContaining({ code: "RuntimeMissing", retryable: false }));
  expect(find).toThrow(/install/);
});

test("skips relative directories of PATH, whose owner could replace the program", () => {
  expect(findRuntime("sh", ".:bin:/bin")).toBe("/bin/sh");
});

test.each([
  ["crun version 1.8.1\\ncommit: f8a0", { family: "crun", version: "1.8.1" }],
  ["runc version 1.1.5+ds1\\nspec: 1.0.2-dev", { family: "runc", version: "1.1.5+ds1" }],
  ["youki version 0.5.3", { family: "youki", version: "0.5.3" }],
  ["youki version: 0.7.0\ncommit: 0.7.0\nspec: 1.1.0", { family: "youki", version: "0.7.0" }],
  ["runsc version 0.0~20221219.0\\nspec: 1.0.2-dev", { family: "runsc", version: "0.0~20221219.0" }],
  ["kata version 3.1", { family: "other", version: "" }],
])("a runtime's version output decides how it is started: %s", async (says, expected) => {
  const path = program(`printf '${says}\\n'`);
  expect(await identifyRuntime(path)).toEqual({ path, ...expected });
});

test("gives a state directory to a runtime that requires one for --version", async () => {
  // crun 1.21 does the same for an ordinary user without XDG_RUNTIME_DIR.
  const path = program(
    'case "$1" in --root=?*) echo crun version 1.21;; *) echo Failed to get state directory >&2; exit 1;; esac',
  );
  expect(await identifyRuntime(path)).toEqual({ path, family: "crun", version: "1.21" });
});

test("reports the stderr of a failing runtime", async () => {
  await expect(identifyRuntime(program("echo libyajl.so.2 is missing >&2; exit 127"))).rejects.toMatchObject({
    code: "StartFailed",
    phase: "start",
    retryable: false,
    message: expect.stringContaining("libyajl.so.2 is missing"),
  });
});

test("kills a hanging runtime, and reports it", async () => {
  await expect(identifyRuntime(program("exec sleep 600"), 100)).rejects.toMatchObject({
    code: "StartFailed",
    message: expect.stringContaining("did not answer"),
  });
});

test.each([
  ["crun", "1.8.1", true],
  ["crun", "1.19.1", true],
  ["crun", "0.17", true],
  ["crun", "1.20", false],
  ["crun", "1.20.0-rc1", false],
  ["crun", "2.0", false],
  ["runc", "1.1.5", false],
  ["other", "", false],
] as const)("%s %s lacks known security fixes: %s", (family, version, lacks) => {
  expect(knownDefect({ family, version }) !== undefined).toBe(lacks);
  expect(runtimeWarning({ path: "/usr/bin/x", family, version }) !== undefined).toBe(lacks);
});
