import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, TestRunner } from "vitest";

const ofFile: string[] = [];

/**
 * Makes a temporary folder. It is removed after the test, or after all tests of the file if no test was running: in
 * `beforeAll`, and where tests are declared.
 */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "xfn-test-"));
  if (TestRunner.getCurrentTest() === undefined) ofFile.push(folder);
  else onTestFinished(() => remove(folder));
  return folder;
}

/** Removes the folders that no test made. test/harness/remove-folders.ts calls it after each file. */
export function removeFoldersOfFile(): void {
  for (const folder of ofFile.splice(0)) remove(folder);
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
