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

test("missing folders above are made too, with the same mode; existing ones stay as they are", () => {
  const old = join(box.dir, "old");
  mkdirSync(old, { mode: 0o755 });
  makeFolder(join(old, "a", "b"), 0o700);
  const modes = [old, join(old, "a"), join(old, "a", "b")].map((path) => statSync(path).mode & 0o777);
  expect(modes).toEqual([0o755, 0o700, 0o700]);
  expect(() => makeFolder(join(old, "a", "b"))).not.toThrow();
});

test("a file in the way is an error", () => {
  const file = join(box.dir, "file");
  writeFileSync(file, "");
  expect(() => makeFolder(file)).toThrow("EEXIST");
  expect(() => makeFolder(join(file, "below"))).toThrow("EEXIST");
});

test("where no folder can be made, as in /proc, it is an error instead of no end", () => {
  expect(() => makeFolder("/proc/xfn-test/a/b")).toThrow("ENOENT");
});
