import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { elfFile } from "../../testing/elf-file.ts";
import { sharedLibraries } from "./shared-libraries.ts";

let dir: string;

beforeAll(() => {
  dir = temporaryFolder();
  mkdirSync(join(dir, "lib"));
  mkdirSync(join(dir, "other"));
});

function write(name: string, contents: Parameters<typeof elfFile>[0]): string {
  const path = join(dir, name);
  writeFileSync(path, elfFile(contents));
  return path;
}

const sources = (program: string): string[] => sharedLibraries([program]).map(({ source }) => source);

test("follows RUNPATH with $ORIGIN, and libraries that libraries need", () => {
  const program = write("program", { needed: ["liba.so"], runpath: "$ORIGIN/lib" });
  const a = write("lib/liba.so", { needed: ["libb.so"], runpath: "$ORIGIN" });
  const b = write("lib/libb.so", {});
  expect(sources(program)).toEqual([a, b]);
});

test("libraries inherit RPATH, but not RUNPATH", () => {
  write("other/libc1.so", { needed: ["libc2.so"] });
  write("other/libc2.so", {});
  expect(sources(write("with-rpath", { needed: ["libc1.so"], rpath: join(dir, "other") }))).toHaveLength(2);
  const program = write("with-runpath", { needed: ["libc1.so"], runpath: join(dir, "other") });
  expect(() => sources(program)).toThrow(/libc2\.so/);
});

test("skips a library for another processor", () => {
  write("other/libd.so", { machine: 0xffff });
  const program = write("needs-d", { needed: ["libd.so"], rpath: join(dir, "other") });
  expect(() => sources(program)).toThrow(/needs the shared library libd\.so/);
});

test("two libraries that need each other do not cause an endless loop", () => {
  write("other/libx.so", { needed: ["liby.so"] });
  write("other/liby.so", { needed: ["libx.so"] });
  expect(sources(write("needs-x", { needed: ["libx.so"], rpath: join(dir, "other") }))).toHaveLength(2);
});

test("a library that a program may load at run time is there if the machine has it, with what it needs", () => {
  write("other/libneeded.so", {});
  write("other/libmay.so", { needed: ["libneeded.so"], runpath: "$ORIGIN" });
  const program = write("loads", { runpath: join(dir, "other") });
  const found = sharedLibraries([program], ["libmay.so", "libnowhere.so"]).map(({ source }) => source);
  expect(found).toEqual([join(dir, "other/libmay.so"), join(dir, "other/libneeded.so")]);
});

test("a static program needs no libraries", () => {
  expect(sources(write("static", {}))).toEqual([]);
});

test.runIf(process.platform === "linux")(
  "finds Node's libraries, and its loader at the path that the kernel uses",
  () => {
    const libraries = sharedLibraries([process.execPath]);
    expect(libraries.some(({ target }) => /\/libc\.(so|musl)/.test(target))).toBe(true);
    expect(libraries.some(({ target }) => /\/ld-/.test(target))).toBe(true);
  },
);
