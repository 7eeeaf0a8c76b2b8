import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { quote } from "./quote.ts";

/**
 * Writes the file `env`, which points a shell at the server (`. DIR/env`). It sets `KUBECONFIG`, and adds `kubectl` of
 * the server's version and this process's Node to the `PATH`.
 *
 * @param folder - the server's folder
 * @returns the path of the file
 */
export function writeEnvironment(folder: string, programs: { kubeconfig: string; kubectl: string }): string {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true, mode: 0o700 });
  for (const [name, target] of [
    ["kubectl", programs.kubectl],
    ["node", process.execPath],
  ] as const) {
    // A link of an earlier start may be dangling.
    rmSync(join(bin, name), { force: true });
    symlinkSync(target, join(bin, name));
  }
  const file = join(folder, "env");
  writeFileSync(file, `export KUBECONFIG=${quote(programs.kubeconfig)}\nexport PATH=${quote(bin)}:"$PATH"\n`, {
    mode: 0o600,
  });
  return file;
}
