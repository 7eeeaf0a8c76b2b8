import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** The kernel of the virtual machine, which scripts/test.sh downloads: `vmlinuz` and its modules, `*.ko`. */
export const KERNEL_DIRECTORY: string =
  process.env["XFN_TEST_KERNEL"] ??
  join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "xfn", "test-kernel");

export function hasKernel(): boolean {
  return existsSync(join(KERNEL_DIRECTORY, "vmlinuz"));
}
