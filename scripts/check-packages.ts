// Packs every package as `npm publish` would and checks the tarballs: publint checks the files that package.json names,
// and attw checks that types resolve as code does.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

function run(command: string, args: readonly string[], cwd: string): { ok: boolean; stdout: string; all: string } {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  return { ok: status === 0, stdout, all: error === undefined ? `${stdout}${stderr}` : error.message };
}

const folder = mkdtempSync(join(tmpdir(), "xfn-packages-"));
try {
  const names = readdirSync(join(ROOT, "packages")).toSorted();
  // All at once: npm takes longer to start than to pack.
  const packed = run(
    "npm",
    [
      "pack",
      "--json",
      "--ignore-scripts",
      "--loglevel=error",
      `--pack-destination=${folder}`,
      ...names.map((name) => `--workspace=packages/${name}`),
    ],
    ROOT,
  );
  if (!packed.ok) throw new Error(`npm pack failed:\n${packed.all}`);
  for (const name of names) {
    const { version, exports } = JSON.parse(readFileSync(join(ROOT, "packages", name, "package.json"), "utf8")) as {
      version: string;
      exports?: object;
    };
    const tarball = join(folder, `xfn-${name}-${version}.tgz`);
    const checks: [string, string[]][] = [["publint", ["run", tarball, "--strict"]]];
    // A package without exports has no types to resolve.
    if (exports !== undefined) checks.push(["attw", [tarball, "--profile", "esm-only", "--format", "ascii"]]);
    for (const [command, args] of checks) {
      const { ok, all } = run(command, args, folder);
      if (ok) continue;
      console.error(`${name}: ${command}\n${all}`);
      process.exitCode = 1;
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
