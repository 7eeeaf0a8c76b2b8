import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { elfFile } from "../../testing/elf-file.ts";
import { readElf } from "./elf.ts";

let dir: string;

beforeAll(() => {
  dir = temporaryFolder();
});

function read(bytes: Uint8Array): ReturnType<typeof readElf> {
  const path = join(dir, "file");
  writeFileSync(path, bytes);
  return readElf(path);
}

test("reads loader, libraries and search paths", () => {
  const file = elfFile({
    interpreter: "/lib64/ld.so",
    needed: ["libb.so.1", "liba.so"],
    rpath: "/r1:/r2",
    runpath: "$ORIGIN/lib",
  });
  expect(read(file)).toMatchObject({
    interpreter: "/lib64/ld.so",
    needed: ["libb.so.1", "liba.so"],
    rpath: ["/r1", "/r2"],
    runpath: ["$ORIGIN/lib"],
  });
});

test("a static program has no loader and no libraries", () => {
  const elf = read(elfFile({}));
  expect(elf).toMatchObject({ needed: [] });
  expect(elf).not.toHaveProperty("interpreter");
});

test.runIf(process.platform === "linux")("Node itself can be read", () => {
  expect(readElf(process.execPath)?.interpreter).toMatch(/ld-/);
});

test("returns undefined for other files", () => {
  expect(read(Buffer.from("#!/bin/sh\n".repeat(20)))).toBeUndefined();
  expect(read(new Uint8Array())).toBeUndefined();
});

test("reports a truncated or forged file by name", () => {
  const whole = elfFile({ interpreter: "/lib64/ld.so", needed: ["a.so"] });
  for (let length = 64; length < whole.length; length += 7) {
    // Cut at any offset, the file is either readable or reported as damaged.
    try {
      read(whole.subarray(0, length));
    } catch (error) {
      expect((error as Error).message).toContain("damaged ELF");
    }
  }
  const many = Buffer.from(whole);
  many.writeUInt16LE(65535, 56);
  expect(() => read(many)).toThrow(/damaged ELF/);
});
