import { spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";

/** The folder of downloads, which later builds reuse. */
export function downloads(): string {
  return join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "xfn", "image-base");
}

/** Runs a command and returns its output. */
export function run(command: string, args: readonly string[], cwd?: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8", maxBuffer: 2 ** 26 });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${error?.message ?? `${stdout}${stderr}`}`);
  return stdout;
}
