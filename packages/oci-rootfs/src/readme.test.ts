import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sandbox } from "../testing/sandbox.ts";

const EXPECTED: Readonly<Record<string, string>> = {
  "example.ts": "true 1\n[ '/fn/run' ] / 1000\n#!/bin/sh\ncat\n\n",
  "build.ts": "2\n{ 'org.opencontainers.image.title': 'my-fn' } arm64\narm64\n",
  "prune.ts": "[ 'my-fn:v1' ]\n[ 'my-fn:v1' ] 0\n",
};

test.each(Object.entries(EXPECTED))("the README's %s runs unchanged", (name, expected) => {
  using box = sandbox();
  const readme = readFileSync(join(import.meta.dirname, "..", "README.md"), "utf8");
  const [, example = ""] = new RegExp(`\`\`\`ts ${name}\\n([\\s\\S]*?)\`\`\``).exec(readme) ?? [];
  const program = join(box.dir, name);
  // From the source: a unit test needs no build.
  const source = (entry: string): string => JSON.stringify(join(import.meta.dirname, `${entry}.ts`));
  const text = example
    .replaceAll('"@xfn/oci-rootfs"', source("index"))
    .replaceAll('"@xfn/oci-rootfs/registry"', source("registry"));
  writeFileSync(program, text);
  const { stdout, stderr } = spawnSync(process.execPath, [program], { encoding: "utf8", env: { TMPDIR: box.dir } });
  expect({ stdout, stderr }).toEqual({ stdout: expected, stderr: "" });
});
