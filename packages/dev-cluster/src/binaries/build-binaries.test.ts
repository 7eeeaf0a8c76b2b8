import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { buildBinaries } from "./build-binaries.ts";

// With a stand-in for Go, which prints the package names that it compiles, as `go build -v` does.
const GO = `#!/bin/sh
echo internal/abi >&2
sleep 0.05
echo runtime >&2
echo main >&2
[ "$GO_FAILS" != yes ] || { echo "main.go:1: no" >&2; exit 1; }
while [ "$1" != -o ]; do shift; done
echo built >"$2"
`;

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(folder, "bin/go"), GO, { mode: 0o755 });
  vi.stubEnv("XDG_CACHE_HOME", folder);
  vi.stubEnv("PATH", `${join(folder, "bin")}:${process.env["PATH"]}`);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

test("reports each program, and the packages that are compiled", async () => {
  const reported: (string | number)[] = [];
  const built = await buildBinaries({
    programs: ["etcd", "kubectl"],
    onProgram: (program) => reported.push(program),
    onPackages: (count) => reported.push(count),
  });
  expect(existsSync(built.etcd ?? "")).toBe(true);
  // How the lines arrive depends on the pipe, but not how many.
  const [first, ...rest] = reported.join(" ").split(" kubectl ");
  expect(first).toMatch(/^etcd( [12])* 3$/);
  expect(rest).toEqual([expect.stringMatching(/^([12] )*3$/)]);
});

test("a failed build has the end of Go's output", async () => {
  vi.stubEnv("GO_FAILS", "yes");
  await expect(buildBinaries({ programs: ["etcd"] })).rejects.toMatchObject({
    code: "BuildFailed",
    message: expect.stringContaining("main.go:1: no"),
  });
});
