import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type PackageFilesOptions, packageFiles } from "./package-files.ts";
import { packageFileName } from "./package-name.ts";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "xfn-package-files-test-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function write(...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), "a: 1\n");
  }
}

const found = (options?: PackageFilesOptions): string[] =>
  packageFiles(dir, options).map((path) => relative(dir, path));

test("YAML files at any depth, in the order of their paths, and nothing else", () => {
  write("b.yaml", "a/z.yml", "a/b/c.yaml", "README.md", "x.json", ".git/config.yaml", "node_modules/x/y.yaml");
  writeFileSync(join(dir, "empty.yaml"), "");
  expect(found()).toEqual(["a/b/c.yaml", "a/z.yml", "b.yaml"]);
});

test("not the examples, by their whole path", () => {
  write("examples/a.yaml", "apis/examples/b.yaml", "examples.yaml");
  expect(found({ without: join(dir, "examples") })).toEqual(["apis/examples/b.yaml", "examples.yaml"]);
});

test.each([
  ["./test/*", ["a.yaml", "b1.yaml", "test/deep/c.yaml"]],
  ["*.yaml", ["test/a.yaml", "test/deep/c.yaml"]],
  ["?1.yaml", ["a.yaml", "test/a.yaml", "test/deep/c.yaml"]],
  ["[a-b]*", ["test/a.yaml", "test/deep/c.yaml"]],
  ["a\\.yaml", ["b1.yaml", "test/a.yaml", "test/deep/c.yaml"]],
  ["a?yaml", ["b1.yaml", "test/a.yaml", "test/deep/c.yaml"]],
  ["a+yaml", ["a.yaml", "b1.yaml", "test/a.yaml", "test/deep/c.yaml"]],
  ["test", ["a.yaml", "b1.yaml", "test/a.yaml", "test/deep/c.yaml"]],
])("without what a pattern names: %s", (pattern, expected) => {
  write("a.yaml", "b1.yaml", "test/a.yaml", "test/deep/c.yaml");
  expect(found({ ignore: [pattern] })).toEqual(expected);
});

test("an invalid pattern is refused", () => {
  expect(() => found({ ignore: ["[z-a]"] })).toThrow(expect.objectContaining({ code: "Input" }));
});

test("a link within the folder is followed, one out of it would publish what it shows", () => {
  write("real.yaml");
  symlinkSync("real.yaml", join(dir, "link.yaml"));
  expect(found()).toEqual(["link.yaml", "real.yaml"]);
  symlinkSync("/etc/hostname", join(dir, "outside.yaml"));
  expect(found).toThrow(expect.objectContaining({ code: "Input", message: expect.stringMatching(/link out of/) }));
});

test("a link to nothing, or to itself, is an error that names it", () => {
  symlinkSync("absent.yaml", join(dir, "link.yaml"));
  expect(found).toThrow(/link\.yaml/);
  rmSync(join(dir, "link.yaml"));
  symlinkSync("loop.yaml", join(dir, "loop.yaml"));
  expect(found).toThrow(/loop\.yaml/);
});

test("linked folders are not walked, so that none leads in a circle", () => {
  write("a/b.yaml");
  symlinkSync("..", join(dir, "a/up"));
  expect(found()).toEqual(["a/b.yaml"]);
});

test.each([
  ["function-auto-ready", "function-auto-ready-0123456789ab.xpkg"],
  ["acme.example", "acme-example-0123456789ab.xpkg"],
  ["x".repeat(80), `${"x".repeat(50)}-0123456789ab.xpkg`],
])("the file of %s is %s", (name, file) => {
  expect(packageFileName(name, "sha256:0123456789abcdef")).toBe(file);
});
