import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

export const CHECKOUT: string = join(import.meta.dirname, "..");

/** Writes a generated file. With --check, reports one that is not current, and changes nothing. */
export function writeGenerated(path: string, text: string, command: string): void {
  const file = join(CHECKOUT, path);
  if (existsSync(file) && readFileSync(file, "utf8") === text) return;
  if (process.argv.includes("--check")) {
    process.stdout.write(`${path} is not current: npm run ${command}\n`);
    process.exitCode = 1;
  } else {
    writeFileSync(file, text);
  }
}
