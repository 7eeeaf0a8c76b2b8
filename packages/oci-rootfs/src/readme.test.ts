import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sandbox } from "../testing/sandbox.ts";

test("the README's example runs as it is written", () => {
  using box = sandbox();
  const readme = readFileSync(join(import.meta.dirname, "..", "README.md"), "utf8");
  const [, example = ""] = /```ts example\.ts\n([\s\S]*?)```/.exec(readme) ?? [];
  const program = join(box.dir, "example.ts");
  // From the source: a unit test needs no build.
  writeFileSync(program, example.replace('"@xfn/oci-rootfs"', JSON.stringify(join(import.meta.dirname, "index.ts"))));
  const { stdout, stderr } = spawnSync(process.execPath, [program], { encoding: "utf8", env: { TMPDIR: box.dir } });
  expect({ stdout, stderr }).toEqual({ stdout: "true 1\n[ '/fn/run' ] / 1000\n#!/bin/sh\ncat\n\n", stderr: "" });
});
