import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockFolder } from "./lock-folder.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "xfn-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

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
