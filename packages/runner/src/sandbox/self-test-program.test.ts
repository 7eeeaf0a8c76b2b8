import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { selfTestProgram } from "./self-test-program.ts";

test("the program runs here and copies its input", () => {
  const directory = temporaryFolder();
  try {
    const program = selfTestProgram();
    if (program === undefined) throw new Error(`not known for ${process.arch}`);
    const path = join(directory, "program");
    writeFileSync(path, program, { mode: 0o755 });
    const { stdout, status } = spawnSync(path, { input: "hello" });
    expect({ stdout: stdout.toString(), status }).toEqual({ stdout: "hello", status: 0 });
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("there is one for x64 and arm64, of a few hundred bytes", () => {
  for (const arch of ["x64", "arm64"]) expect(selfTestProgram(arch)?.length).toBeLessThan(300);
  expect(selfTestProgram("riscv64")).toBeUndefined();
});
