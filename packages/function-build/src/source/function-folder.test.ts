import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { folderFiles } from "./folder-files.ts";
import { inspectFolder } from "./function-folder.ts";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "xfn-folder-test-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function write(name: string, content = "", mode = 0o644): void {
  mkdirSync(dirname(join(dir, name)), { recursive: true });
  writeFileSync(join(dir, name), content);
  chmodSync(join(dir, name), mode);
}

test.each([
  [["function.ts", "index.ts"], "function.ts"],
  [["src/function.ts", "index.ts"], "src/function.ts"],
  [["src/index.ts"], "src/index.ts"],
  [["index.js"], "index.js"],
])("of %j the entry is %s", (files, entry) => {
  for (const file of files) write(file);
  expect(inspectFolder(dir)).toMatchObject({ kind: "script", entry });
});

test.each([
  ['{"main": "lib/start.ts"}'],
  ['{"main": "nowhere.ts", "exports": "./lib/start.ts"}'],
  ['{"exports": {".": {"import": "./lib/start.ts"}}}'],
  ['{"exports": {".": {"default": "./lib/start.ts"}}}'],
])("package.json %s comes before the usual names", (manifest) => {
  write("package.json", manifest);
  write("lib/start.ts");
  write("function.ts");
  expect(inspectFolder(dir)).toMatchObject({ kind: "script", entry: "lib/start.ts" });
});

test("ignores an entry of package.json that is missing or outside the folder", () => {
  write("package.json", '{"main": "../../etc/start.js"}');
  write("function.ts");
  expect(inspectFolder(dir)).toMatchObject({ entry: "function.ts" });
});

test("prefers an executable file named function", () => {
  write("function", "#!/bin/sh\n", 0o755);
  write("function.ts");
  expect(inspectFolder(dir)).toMatchObject({ kind: "executable", entry: "function" });
});

test("the only executable file is the function", () => {
  write("run.sh", "#!/bin/sh\n", 0o755);
  write("data.txt");
  expect(inspectFolder(dir)).toMatchObject({ kind: "executable", entry: "run.sh" });
});

test("refuses two executable files, names both, and accepts --entrypoint", () => {
  write("a.sh", "#!/bin/sh\n", 0o755);
  write("b.sh", "#!/bin/sh\n", 0o755);
  expect(() => inspectFolder(dir)).toThrow(/a\.sh, b\.sh/);
  expect(inspectFolder(dir, "b.sh")).toMatchObject({ entry: "b.sh" });
});

test("a path of a file makes that file the entry", () => {
  write("special.ts");
  write("function.ts");
  expect(inspectFolder(join(dir, "special.ts"))).toMatchObject({ dir, entry: "special.ts" });
});

test("refuses an entrypoint that is missing, not executable, or outside the folder", () => {
  write("plain.sh", "#!/bin/sh\n");
  for (const entrypoint of ["../x", "missing", "plain.sh", "."]) expect(() => inspectFolder(dir, entrypoint)).toThrow();
});

test("leaves out history, packages, tests and images of earlier builds", () => {
  write("function", "#!/bin/sh\n", 0o755);
  for (const name of [
    ".git/HEAD",
    "node_modules/a/b.js",
    "test/a.sh",
    "tests/a.sh",
    "a.test.ts",
    "x_test.go",
    "test_x.py",
    "__pycache__/a.pyc",
    "image/oci-layout",
    "image/index.json",
  ])
    write(name);
  write("lib/part.awk");
  expect(folderFiles(dir)).toEqual([
    { path: "function", executable: true },
    { path: "lib/part.awk", executable: false },
  ]);
});

test("keeps a link inside the folder, and refuses a link out of it", () => {
  write("lib/data.txt");
  symlinkSync(join(dir, "lib/data.txt"), join(dir, "data"));
  expect(folderFiles(dir)).toContainEqual({ path: "data", executable: false, link: "lib/data.txt" });
  symlinkSync("/etc/passwd", join(dir, "lib/outside"));
  expect(() => folderFiles(dir)).toThrow(/link out of/);
});

test("does not follow a link to the folder itself", () => {
  write("lib/a.txt");
  symlinkSync("..", join(dir, "lib/up"));
  expect(folderFiles(dir).map(({ path }) => path)).toEqual(["lib/a.txt", "lib/up"]);
});

test("names a script that only lacks its executable bit", () => {
  write("run.sh", "#!/bin/sh\n");
  expect(() => inspectFolder(dir)).toThrow(/run\.sh has a #! line, but is not executable: run chmod \+x/);
});
