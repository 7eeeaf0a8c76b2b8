import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { CodeCache } from "./code-cache.ts";

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

const source = (text: string): string => `exports.answer = () => ${JSON.stringify(text)}; exports.file = __filename;`;

function write(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

/** Loads a file as one run of a program does, calls it and saves its code. */
function run(path: string, use = "1", folder = dir): string {
  const cache = new CodeCache(folder, use);
  const { answer } = cache.load(path) as { answer(): string };
  const text = answer();
  cache.save();
  return text;
}

const saved = (): string[] => readdirSync(dir).filter((name) => name.endsWith(".code"));
const contentOf = ([name = ""]: readonly string[]): Buffer => readFileSync(join(dir, name));

describe("a cache of compiled code", () => {
  test("runs a file as require does, with and without its code", () => {
    const path = write("a.cjs", `${source("hello")} exports.sep = require("node:path").sep;`);
    for (const _ of [1, 2]) {
      const cache = new CodeCache(dir, "1");
      expect(cache.load(path)).toMatchObject({ file: path, sep: "/" });
      cache.save();
    }
    expect(saved()).toHaveLength(1);
  });

  test("saves the code once for each use", () => {
    const path = write("a.cjs", source("hello"));
    run(path, "1 --watch");
    const first = contentOf(saved());
    run(path, "1 --watch");
    expect(contentOf(saved())).toEqual(first);
    run(path, "2");
    expect(contentOf(saved()).includes("1 --watch\n2\n\n")).toBe(true);
  });

  test("does not run the code of another file of the same length", () => {
    const path = write("a.cjs", source("one"));
    expect(run(path)).toBe("one");
    write("a.cjs", source("two"));
    expect(run(path)).toBe("two");
    expect(saved()).toHaveLength(2);
  });

  test("ignores code that is damaged or cut off", () => {
    const path = write("a.cjs", source("hello"));
    run(path);
    const [name = ""] = saved();
    const good = contentOf([name]);
    const other = Buffer.from(good);
    other.writeUInt8(other.readUInt8(good.length >> 1) ^ 0xff, good.length >> 1);
    for (const bad of [Buffer.alloc(0), good.subarray(0, 40), good.subarray(0, -1), other]) {
      write(name, "");
      writeFileSync(join(dir, name), bad);
      expect(run(path)).toBe("hello");
      expect(contentOf([name]).equals(bad)).toBe(false);
    }
  });

  test("keeps the files of four builds", () => {
    for (const text of ["a", "b", "c", "d", "e", "f"]) run(write("a.cjs", source(text)));
    expect(saved()).toHaveLength(4);
    expect(readdirSync(dir)).toHaveLength(5);
  });

  test("runs a file although its code cannot be saved", () => {
    const path = write("a.cjs", source("hello"));
    expect(run(path, "1", join(dir, "absent"))).toBe("hello");
  });
});
