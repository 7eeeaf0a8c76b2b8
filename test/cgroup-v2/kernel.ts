import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** Where scripts/test.sh leaves the kernel of the virtual machine: `vmlinuz` and its modules, `*.ko`. */
export const KERNEL_DIRECTORY: string =
  process.env["XFN_TEST_KERNEL"] ??
  join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "xfn", "test-kernel");

/** Whether there is one. */
export function hasKernel(): boolean {
  return existsSync(join(KERNEL_DIRECTORY, "vmlinuz"));
}
