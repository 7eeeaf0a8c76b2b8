import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { MAX_SOURCE_BYTES, requirePlainFiles } from "./plain-files.ts";

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
  write("function.ts", "export default null;");
});

function write(path: string, content: string): string {
  const file = join(dir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

describe.each([
  "package.json",
  "tsconfig.json",
  "function.ts",
  "src/part.ts",
  "src/package.json",
  "go.mod",
  ".dockerignore",
  ".gitignore",
  "package-lock.json",
  "data.txt",
  "node_modules/a/package.json",
  "node_modules/@b/a/package.json",
])("%s", (path) => {
  const replace = (make: (file: string) => void): void => {
    rmSync(write(path, ""));
    make(join(dir, path));
  };

  test("that is a link to a device is refused before a tool reads it", () => {
    replace((file) => symlinkSync("/dev/zero", file));
    expect(() => requirePlainFiles(dir)).toThrow(/is neither a file nor a folder/);
  });

  test("that is a FIFO is refused without waiting for it", () => {
    replace((file) => execFileSync("mkfifo", [file]));
    expect(() => requirePlainFiles(dir)).toThrow(/is neither a file nor a folder/);
  });
});

describe("settings that others extend", () => {
  test.each<[string, string, string]>([
    ["by a path", "../base.json", "../base.json"],
    ["without the suffix", "./settings/base", "settings/base.json"],
    ["by a path that is absolute", "/dev/zero", ""],
    ["of a package", "@org/base/strict.json", "node_modules/@org/base/strict.json"],
    ["of the package alone", "base", "node_modules/base/tsconfig.json"],
  ])("are checked: %s", (_, name, path) => {
    const outer = dir;
    dir = join(outer, "fn");
    try {
      write("function.ts", "export default null;");
      write("tsconfig.json", JSON.stringify({ extends: ["./first.json", name] }));
      if (path !== "") {
        mkdirSync(dirname(join(dir, path)), { recursive: true });
        symlinkSync("/dev/zero", join(dir, path));
      }
      expect(() => requirePlainFiles(dir)).toThrow(/is neither a file nor a folder/);
    } finally {
      dir = outer;
    }
  });

  test("may form a cycle, which tsc reports", () => {
    write("tsconfig.json", '{"extends": "./other.json"}');
    write("other.json", '{"extends": "./tsconfig.json"}');
    expect(() => requirePlainFiles(dir)).not.toThrow();
  });

  test("are each read once: a file that extends itself twice would be read without end", () => {
    write("tsconfig.json", '{"extends": ["./tsconfig.json", "./tsconfig.json", "./other.json"]}');
    write("other.json", '{"extends": ["./tsconfig.json", "./other.json", "./other.json"]}');
    expect(() => requirePlainFiles(dir)).not.toThrow();
  });

  test("may have comments without end, each of which is not searched to the end of the file", () => {
    write("tsconfig.json", "/* ".repeat(2_000_000));
    expect(() => requirePlainFiles(dir)).not.toThrow();
  });
});

test("scopes of packages that contain themselves are not followed", () => {
  write("node_modules/a/package.json", "{}");
  for (const name of ["@b", "@c", "@d"]) symlinkSync(".", join(dir, "node_modules", name));
  expect(() => requirePlainFiles(dir)).not.toThrow();
});

test("a source that would fill the memory is refused, and data of that size is not", () => {
  for (const name of ["large.bin", "crds.yaml", "large.json"]) truncateSync(write(name, ""), MAX_SOURCE_BYTES + 1);
  expect(requirePlainFiles(dir)).toEqual([join(dir, "large.json")]);
  truncateSync(write("package.json", ""), MAX_SOURCE_BYTES + 1);
  expect(() => requirePlainFiles(dir)).toThrow(/a source has at most/);
});

test("dangling links and links to folders are left to the bundler", () => {
  symlinkSync("nowhere", join(dir, "dangling"));
  symlinkSync("/", join(dir, "root"));
  symlinkSync("loop", join(dir, "loop"));
  expect(() => requirePlainFiles(dir)).not.toThrow();
});
