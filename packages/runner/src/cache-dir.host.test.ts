import { chmodSync, chownSync, lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { cacheDir, compiledCodeDir } from "./cache-dir.ts";

let folder: string;
const before = process.env["TMPDIR"];

beforeEach(() => {
  folder = temporaryFolder();
  process.env["TMPDIR"] = folder;
});

afterEach(() => {
  if (before === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = before;
});

test("XDG_CACHE_HOME comes first", () => {
  const cache = join(folder, "somewhere/cache");
  expect(cacheDir({ XDG_CACHE_HOME: cache, HOME: folder })).toBe(join(cache, "xfn"));
  expect(cacheDir({ XDG_CACHE_HOME: "/proc/xfn-test", HOME: folder })).toBe("/proc/xfn-test/xfn");
});

test("ignores a relative XDG_CACHE_HOME, as its specification requires", () => {
  expect(cacheDir({ XDG_CACHE_HOME: "cache", HOME: folder })).toBe(join(folder, ".cache", "xfn"));
});

test("uses a private directory if the home is not writable", () => {
  const dir = cacheDir({ HOME: "/proc/self" });
  expect(dir).toBe(join(folder, `xfn-${process.getuid?.()}`));
  expect(lstatSync(dir).mode & 0o777).toBe(0o700);
});

const root = { skip: process.getuid?.() !== 0 };
const OTHER_UID = 23_456;

test("does not use another user's home, nor compiled code in it", root, () => {
  const home = join(folder, "home");
  mkdirSync(join(home, ".cache/xfn/compiled"), { recursive: true });
  for (const dir of [".cache/xfn/compiled", ".cache/xfn", ".cache", "."]) chownSync(join(home, dir), OTHER_UID, 0);
  expect(cacheDir({ HOME: home })).toBe(join(folder, "xfn-0"));
  expect(compiledCodeDir({ HOME: home })).toBe(join(folder, "xfn-0", "compiled"));
});

test("refuses a directory that another user made in a shared XDG_CACHE_HOME", root, () => {
  chmodSync(folder, 0o1777);
  mkdirSync(join(folder, "xfn"));
  chownSync(join(folder, "xfn"), OTHER_UID, 0);
  const use = (): unknown => cacheDir({ XDG_CACHE_HOME: folder });
  expect(use).toThrow(/belongs to user 23456; set XDG_CACHE_HOME/);
  expect(() => compiledCodeDir({ XDG_CACHE_HOME: folder })).toThrow(/belongs to user 23456/);
  chownSync(join(folder, "xfn"), 0, 0);
  expect(use()).toBe(join(folder, "xfn"));
});

test.each([
  ["is writable for others", "xfn", 0o777],
  ["is in one that others can write to", ".", 0o777],
])("refuses a directory that %s", (_, path, mode) => {
  mkdirSync(join(folder, "cache/xfn"), { recursive: true });
  chmodSync(join(folder, "cache", path), mode);
  expect(() => cacheDir({ XDG_CACHE_HOME: join(folder, "cache") })).toThrow(/other users can write to/);
});

test("refuses a directory whose parent others can write to before the directory exists", () => {
  chmodSync(folder, 0o777);
  expect(() => cacheDir({ XDG_CACHE_HOME: folder })).toThrow(/other users can write to/);
  expect(() => cacheDir({ HOME: "/proc/self" })).toThrow(/XDG_CACHE_HOME/);
});

test("makes directories that only their user can write to, under any umask", () => {
  const umask = process.umask(0);
  try {
    const cache = join(folder, "made/cache");
    expect(cacheDir({ XDG_CACHE_HOME: cache })).toBe(join(cache, "xfn"));
    expect(cacheDir({ HOME: folder })).toBe(join(folder, ".cache/xfn"));
  } finally {
    process.umask(umask);
  }
});

test("keeps no compiled code in a directory of another user", root, () => {
  mkdirSync(join(folder, "xfn/compiled"), { recursive: true });
  chownSync(join(folder, "xfn/compiled"), OTHER_UID, 0);
  expect(compiledCodeDir({ XDG_CACHE_HOME: folder })).toBeUndefined();
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
