import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { folderFiles } from "./folder-files.ts";
import { inspectFolder } from "./function-folder.ts";

let dir: string;

beforeEach(() => {
  dir = temporaryFolder();
});

function write(name: string, content = "", mode = 0o644): void {
  mkdirSync(dirname(join(dir, name)), { recursive: true });
  writeFileSync(join(dir, name), content);
  chmodSync(join(dir, name), mode);
}

const paths = (entry?: string): string[] => folderFiles(dir, entry).files.map(({ path }) => path);
const leftOut = (entry?: string): object => Object.fromEntries(folderFiles(dir, entry).leftOut);

test.each([
  [["function.ts", "index.ts"], "function.ts"],
  [["src/function.ts", "index.ts"], "src/function.ts"],
  [["src/index.ts"], "src/index.ts"],
  [["index.js"], "index.js"],
  [["function.cjs"], "function.cjs"],
  [["function.mjs", "function.cjs"], "function.mjs"],
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
  for (const entrypoint of ["../x", "missing", "plain.sh", "."])
    expect(() => inspectFolder(dir, entrypoint), entrypoint).toThrow(expect.objectContaining({ code: "Input" }));
});

test("refuses a folder with a device before it reads a file of it", () => {
  write("function.ts");
  symlinkSync("/dev/zero", join(dir, "package.json"));
  expect(() => inspectFolder(dir)).toThrow(expect.objectContaining({ code: "Input" }));
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
  expect(folderFiles(dir).files).toEqual([
    { path: "function", executable: true },
    { path: "lib/part.awk", executable: false },
  ]);
});

test("keeps a link inside the folder, and refuses a link out of it", () => {
  write("lib/data.txt");
  symlinkSync(join(dir, "lib/data.txt"), join(dir, "data"));
  expect(folderFiles(dir).files).toContainEqual({ path: "data", executable: false, link: "lib/data.txt" });
  symlinkSync("/etc/passwd", join(dir, "lib/outside"));
  expect(() => folderFiles(dir)).toThrow(/link out of/);
});

test("keeps a link to a name that begins with two dots", () => {
  write("..data/part.awk");
  symlinkSync("..data/part.awk", join(dir, "part.awk"));
  expect(folderFiles(dir).files).toContainEqual({ path: "part.awk", executable: false, link: "..data/part.awk" });
});

test("does not follow a link to the folder itself", () => {
  write("lib/a.txt");
  symlinkSync("..", join(dir, "lib/up"));
  expect(paths()).toEqual(["lib/a.txt", "lib/up"]);
});

test("names a script that only lacks its executable bit", () => {
  write("run.sh", "#!/bin/sh\n");
  expect(() => inspectFolder(dir)).toThrow(/run\.sh has a #! line, but is not executable: run chmod \+x/);
});

const SECRETS = [".env", ".npmrc", ".ssh/id_rsa", ".aws/credentials", ".docker/config.json", "lib/.netrc"];

test("leaves out hidden files, which have credentials, and names them", () => {
  write("function", "#!/bin/sh\n", 0o755);
  for (const file of SECRETS) write(file, "secret");
  expect(paths()).toEqual(["function"]);
  expect(leftOut()).toEqual({ hidden: [".aws", ".docker", ".env", ".npmrc", ".ssh", "lib/.netrc"] });
});

test("includes the hidden files that .dockerignore names with an exclamation mark", () => {
  for (const file of [...SECRETS, ".config/app.json", ".config/token"]) write(file);
  write(".dockerignore", "!.config/app.json\n");
  expect(paths()).toEqual([".config/app.json"]);
});

test("includes installed packages and tests that .dockerignore names with an exclamation mark", () => {
  for (const file of ["node_modules/a/index.js", "node_modules/a/test/data.js", "node_modules/b/index.js"]) write(file);
  for (const file of ["test/a.js", "lib/a.test.js", "lib/b.test.js"]) write(file);
  write(".dockerignore", "!node_modules/a\n!lib/a.test.js\n");
  expect(paths()).toEqual(["lib/a.test.js", "node_modules/a/index.js", "node_modules/a/test/data.js"]);
  expect(leftOut()).toEqual({});
});

test("leaves out what .gitignore lists, in inner folders too, but not the function's own program", () => {
  write("bin/function", "#!/bin/sh\n", 0o755);
  for (const file of ["bin/other", "key.pem", "lib/a.txt", "lib/b.txt", "lib/c.txt"]) write(file);
  write(".gitignore", "bin/\n*.pem\n/lib/b.txt\n");
  write("lib/.gitignore", "c.txt\n");
  expect(paths("bin/function")).toEqual(["bin/function", "lib/a.txt"]);
  expect(leftOut("bin/function")).toEqual({ ".gitignore": ["bin", "key.pem", "lib/b.txt", "lib/c.txt"] });
});

test("keeps the program that the function is a link to, in an ignored folder too", () => {
  write("bin/program", "#!/bin/sh\n", 0o755);
  write("bin/other");
  symlinkSync("bin/program", join(dir, "function"));
  write(".gitignore", "bin/\n");
  expect(folderFiles(dir, "function").files).toEqual([
    { path: "bin/program", executable: true },
    { path: "function", executable: false, link: "bin/program" },
  ]);
});

test("keeps each link of a chain to the program, in ignored folders too", () => {
  write("releases/2/program", "#!/bin/sh\n", 0o755);
  write("releases/2/other");
  symlinkSync("2", join(dir, "releases/current"));
  symlinkSync("releases/current/program", join(dir, "latest"));
  symlinkSync("latest", join(dir, "function"));
  write(".gitignore", "releases/\nlatest\n");
  expect(folderFiles(dir, "function").files).toEqual([
    { path: "function", executable: false, link: "latest" },
    { path: "latest", executable: false, link: "releases/current/program" },
    { path: "releases/2/program", executable: true },
    { path: "releases/current", executable: false, link: "2" },
  ]);
});

test("does not follow a cycle of links", () => {
  symlinkSync("b", join(dir, "a"));
  symlinkSync("a", join(dir, "b"));
  expect(paths("a")).toEqual(["a", "b"]);
});

test("leaves out what the .gitignore of an outer folder lists, up to the top of the git work tree", () => {
  const inside = "team/functions/cache";
  write(".gitignore", "top.txt\n");
  mkdirSync(join(dir, "team/.git"), { recursive: true });
  write("team/.gitignore", "*.pem\n/functions/cache/local.txt\n/local.md\n");
  write("team/functions/.gitignore", "!public.pem\n");
  for (const file of ["function", "key.pem", "public.pem", "local.txt", "local.md", "lib/key.pem", "top.txt"])
    write(`${inside}/${file}`, "", 0o755);
  const { files, leftOut } = folderFiles(join(dir, inside), "function");
  expect(files.map(({ path }) => path)).toEqual(["function", "local.md", "public.pem", "top.txt"]);
  expect([...leftOut]).toEqual([[".gitignore", ["key.pem", "lib/key.pem", "local.txt"]]]);
});

test("does not read an outer .gitignore without a git work tree", () => {
  write(".gitignore", "data.txt\n");
  write("cache/data.txt");
  expect(folderFiles(join(dir, "cache")).files.map(({ path }) => path)).toEqual(["data.txt"]);
});

test("builds a folder that the .gitignore of an outer folder lists as a whole", () => {
  mkdirSync(join(dir, ".git"));
  write(".gitignore", "build/\n*.pem\n");
  write("build/cache/data.txt");
  write("build/cache/key.pem");
  expect(folderFiles(join(dir, "build/cache")).files.map(({ path }) => path)).toEqual(["data.txt"]);
});

test("leaves out what .dockerignore lists, and then does not read .gitignore", () => {
  for (const file of ["function", "data/a.txt", "data/keep.txt", "dist/app"]) write(file, "", 0o755);
  write(".gitignore", "dist\n");
  write(".dockerignore", "data\n!data/keep.txt\n");
  expect(paths("function")).toEqual(["data/keep.txt", "dist/app", "function"]);
  expect(leftOut("function")).toEqual({ ".dockerignore": ["data"] });
});
