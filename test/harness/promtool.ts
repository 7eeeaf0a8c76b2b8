import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { functionCache } from "./go-program.ts";
import { which } from "./which.ts";

/**
 * Returns the path of promtool. Where it is not installed, downloads Debian's package of Prometheus, which
 * apt verifies, and unpacks it without installation: the package would start a server.
 */
export function promtool(): string {
  const installed = which("promtool");
  if (installed !== undefined) return installed;
  const program = join(functionCache(), "promtool");
  if (existsSync(program)) return program;
  const work = mkdtempSync(join(functionCache(), "promtool."));
  try {
    mkdirSync(join(work, "unpacked"));
    run("apt-get", ["-q", "download", "prometheus"], work);
    const [deb = ""] = readdirSync(work).filter((name) => name.endsWith(".deb"));
    run("dpkg-deb", ["-x", deb, "unpacked"], work);
    renameSync(join(work, "unpacked/usr/bin/promtool"), program);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return program;
}

function run(program: string, args: readonly string[], cwd: string): void {
  const { status, stderr, error } = spawnSync(program, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? stderr.trim()}`);
}
