import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cacheDir, compiledCodeDir } from "./cache-dir.ts";

let folder: string;
const before = process.env["TMPDIR"];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "xfn-cache-test-"));
  process.env["TMPDIR"] = folder;
});

afterEach(() => {
  if (before === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = before;
  rmSync(folder, { recursive: true, force: true });
});

test("XDG_CACHE_HOME comes first", () => {
  expect(cacheDir({ XDG_CACHE_HOME: "/somewhere", HOME: folder })).toBe("/somewhere/xfn");
});

test("ignores a relative XDG_CACHE_HOME, as its specification requires", () => {
  expect(cacheDir({ XDG_CACHE_HOME: "cache", HOME: folder })).toBe(join(folder, ".cache", "xfn"));
});

test("uses a private directory if the home is not writable", () => {
  const dir = cacheDir({ HOME: "/proc/self" });
  expect(dir).toBe(join(folder, `xfn-${process.getuid?.()}`));
  expect(lstatSync(dir).mode & 0o777).toBe(0o700);
});

test("rejects a temporary directory that others can write, because they could inject code", () => {
  const dir = join(folder, `xfn-${process.getuid?.()}`);
  mkdirSync(dir);
  chmodSync(dir, 0o777);
  expect(() => cacheDir({ HOME: "/proc/self" })).toThrow(/XDG_CACHE_HOME/);
});

test("keeps compiled code only if its directory can be made: Node would retry for ever in /proc", () => {
  const cache = join(folder, "cache");
  expect(compiledCodeDir({ XDG_CACHE_HOME: cache })).toBe(join(cache, "xfn", "compiled"));
  expect(lstatSync(join(cache, "xfn")).isDirectory()).toBe(true);
  expect(compiledCodeDir({ XDG_CACHE_HOME: "/proc/xfn-test" })).toBeUndefined();
});
