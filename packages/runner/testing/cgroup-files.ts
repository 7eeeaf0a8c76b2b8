import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/**
 * Creates a cgroup hierarchy of plain files, until the test ends. It shows which files are written, and when a limit is
 * rejected. test/e2e tests that the kernel enforces the limits.
 *
 * @param files the contents by path
 * @returns the folder of the hierarchy
 */
export function cgroupFiles(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "xfn-cgroups-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}
