import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { exampleFiles, type PackageFilesOptions, packageFiles } from "./package-files.ts";

let dir: string;

beforeEach(() => {
  dir = temporaryFolder();
});

function write(...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), "a: 1\n");
  }
}

const found = (options?: PackageFilesOptions): string[] =>
  packageFiles(dir, options).map((path) => relative(dir, path));

test("lists only YAML files, at any depth, sorted by path", () => {
  write("b.yaml", "a/z.yml", "a/b/c.yaml", "README.md", "x.json", ".git/config.yaml", "node_modules/x/y.yaml");
  writeFileSync(join(dir, "empty.yaml"), "");
  expect(found()).toEqual(["a/b/c.yaml", "a/z.yml", "b.yaml"]);
});

test("names what the author may expect, and no other file", () => {
  write("a.yaml", "B.YAML", "sub/c.Yml", "folder/d.yaml", "README.md", "package.json", "skipped.YAML");
  writeFileSync(join(dir, "object.json"), '{"apiVersion": "v1"}');
  symlinkSync("folder", join(dir, "linked"));
  const leftOut: string[] = [];
  const onLeftOut = (path: string): void => void leftOut.push(relative(dir, path));
  expect(found({ onLeftOut, ignore: ["skipped.*"] })).toEqual(["a.yaml", "folder/d.yaml"]);
  expect(leftOut).toEqual(["B.YAML", "linked", "object.json", "sub/c.Yml"]);
});

test("broken links are not an error", () => {
  write("a.yaml");
  symlinkSync("nowhere", join(dir, "dangling"));
  symlinkSync("loop", join(dir, "loop"));
  expect(found({ onLeftOut: () => expect.unreachable() })).toEqual(["a.yaml"]);
});

test("skips the folder of examples", () => {
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

test("follows a link inside the folder, and refuses a link out of it", () => {
  write("real.yaml");
  symlinkSync("real.yaml", join(dir, "link.yaml"));
  expect(found()).toEqual(["link.yaml", "real.yaml"]);
  symlinkSync("/etc/hostname", join(dir, "outside.yaml"));
  expect(found).toThrow(expect.objectContaining({ code: "Input", message: expect.stringMatching(/link out of/) }));
});

test("does not read examples through a link out of the folder", () => {
  write("home/secret.yaml", "package/real/a.yaml");
  const examples = join(dir, "package/examples");
  symlinkSync("real", examples);
  expect(exampleFiles(examples)).toEqual([join(examples, "a.yaml")]);
  for (const target of ["../home", "real/../..", "."]) {
    rmSync(examples);
    symlinkSync(target, examples);
    expect(() => exampleFiles(examples)).toThrow(
      expect.objectContaining({ code: "Input", message: expect.stringMatching(/is a link out of .*--examples-root/) }),
    );
  }
});

test("reports a dangling link, and a link to itself, by name", () => {
  symlinkSync("absent.yaml", join(dir, "link.yaml"));
  expect(found).toThrow(/link\.yaml/);
  rmSync(join(dir, "link.yaml"));
  symlinkSync("loop.yaml", join(dir, "loop.yaml"));
  expect(found).toThrow(/loop\.yaml/);
});

test("does not follow links to folders, which could form a cycle", () => {
  write("a/b.yaml");
  symlinkSync("..", join(dir, "a/up"));
  expect(found()).toEqual(["a/b.yaml"]);
});
