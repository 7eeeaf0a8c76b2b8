import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { quote } from "./quote.ts";

/**
 * Writes the file `env`, which makes a shell use the server (`. DIR/env`): it sets `KUBECONFIG`, and puts `kubectl` of the server's
 * version and the Node that runs this program on the `PATH`. Neither need be installed.
 *
 * @param folder the server's folder
 * @returns the file's path
 */
export function writeEnvironment(folder: string, programs: { kubeconfig: string; kubectl: string }): string {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true, mode: 0o700 });
  for (const [name, target] of [
    ["kubectl", programs.kubectl],
    ["node", process.execPath],
  ] as const) {
    // From an earlier start, it may lead to what is gone.
    rmSync(join(bin, name), { force: true });
    symlinkSync(target, join(bin, name));
  }
  const file = join(folder, "env");
  writeFileSync(file, `export KUBECONFIG=${quote(programs.kubeconfig)}\nexport PATH=${quote(bin)}:"$PATH"\n`, {
    mode: 0o600,
  });
  return file;
}
