import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { lockFolder } from "./lock-folder.ts";

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

test("a folder is one process's at a time", () => {
  const lock = lockFolder(folder);
  expect(() => lockFolder(folder)).toThrow(expect.objectContaining({ code: "InUse" }));
  lock[Symbol.dispose]();
  expect(existsSync(join(folder, "lock"))).toBe(false);
  lockFolder(folder)[Symbol.dispose]();
});

test("replaces the lock of a killed process", () => {
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  const file = join(folder, "lock");
  writeFileSync(file, `${pid}\n`);
  const lock = lockFolder(folder);
  expect(readFileSync(file, "utf8").trim()).toBe(String(process.pid));
  lock[Symbol.dispose]();
});
