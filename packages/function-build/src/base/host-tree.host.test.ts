import { chmodSync, existsSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { elfFile } from "../../testing/elf-file.ts";
import { hostTree } from "./host-tree.ts";

let dir: string;

beforeEach(() => {
  dir = temporaryFolder();
});

const sources = async (wanted: Parameters<typeof hostTree>[0]): Promise<string[]> =>
  (await hostTree(wanted)).entries().flatMap((entry) => ("source" in entry ? [entry.source] : []));

// A downloaded folder must neither run a program here nor choose a file of its user that goes into the image.
test.runIf(existsSync("/usr/bin/python3"))("a base for Python has the libraries of the system for wheels", async () => {
  const tree = await hostTree({ kind: "script", interpreter: "python3", path: undefined });
  const names = tree.entries().map(({ path }) => basename(path));
  expect(names).toEqual(expect.arrayContaining(["libstdc++.so.6", "librt.so.1", "libdl.so.2", "libpthread.so.0"]));
});

describe.runIf(process.platform === "linux")("a base for a downloaded folder", () => {
  test.runIf(existsSync("/usr/bin/python3"))("does not run an interpreter in the folder", async () => {
    const path = join(dir, "python3");
    writeFileSync(path, `#!/bin/sh\ntouch ${dir}/ran\n`);
    chmodSync(path, 0o755);
    const files = await sources({ kind: "script", interpreter: "python3", path });
    expect(existsSync(join(dir, "ran"))).toBe(false);
    expect(files.some((file) => file.startsWith("/usr/"))).toBe(true);
  });

  test("does not copy a file that is named like a shell", async () => {
    writeFileSync(join(dir, "id_rsa"), "secret");
    symlinkSync(join(dir, "id_rsa"), join(dir, "sh"));
    const files = await sources({ kind: "script", interpreter: "sh", path: join(dir, "sh") });
    expect(files.filter((file) => file.startsWith(dir))).toEqual([]);
  });

  test("does not copy a file that a program names as its loader", async () => {
    const program = join(dir, "program");
    const loader = join(dir, "id_rsa");
    for (const content of ["secret", elfFile({})]) {
      writeFileSync(loader, content);
      writeFileSync(program, elfFile({ interpreter: loader }));
      await expect(sources({ kind: "dynamic", program })).rejects.toThrow(/not one of this machine's/);
    }
  });
});
