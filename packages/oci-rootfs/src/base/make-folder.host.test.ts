import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { makeFolder } from "./make-folder.ts";

let box: Sandbox;
beforeEach(() => {
  box = sandbox();
});
afterEach(() => {
  box[Symbol.dispose]();
});

test("missing parents are created with the same mode, and existing ones stay unchanged", () => {
  const old = join(box.dir, "old");
  mkdirSync(old, { mode: 0o755 });
  makeFolder(join(old, "a", "b"), 0o700);
  const modes = [old, join(old, "a"), join(old, "a", "b")].map((path) => statSync(path).mode & 0o777);
  expect(modes).toEqual([0o755, 0o700, 0o700]);
  expect(() => makeFolder(join(old, "a", "b"))).not.toThrow();
});

test("a file at the path is an error", () => {
  const file = join(box.dir, "file");
  writeFileSync(file, "");
  expect(() => makeFolder(file)).toThrow("EEXIST");
  expect(() => makeFolder(join(file, "below"))).toThrow("EEXIST");
});

test("a directory that cannot be created, as in /proc, is an error instead of an endless loop", () => {
  expect(() => makeFolder("/proc/xfn-test/a/b")).toThrow("ENOENT");
});
