import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { functionCache } from "./go-program.ts";
import { CHECKOUT } from "./paths.ts";

/** Installs the packages of the official Python SDK, some 30 MB, unless they are in the cache. @returns their folder */
export function pythonPackages(): string {
  const requirements = join(CHECKOUT, "test/functions/python-greeting/requirements.txt");
  const options = "--quiet --no-compile --only-binary=:all: --root-user-action=ignore".split(" ");
  return installed("python", requirements, (target) => {
    return ["python3", "-m", "pip", "install", ...options, "--target", target, "--requirement", requirements];
  });
}

/** Installs the packages of the official TypeScript SDK for the function that uses them. @returns their folder */
export function typescriptPackages(): string {
  const folder = join(CHECKOUT, "test/functions/typescript-greeting");
  return installed("typescript", join(folder, "package-lock.json"), (target) => {
    cpSync(folder, target, { recursive: true });
    return ["npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", target];
  });
}

/** Installs packages once for the same lock file. @returns their folder in the cache */
function installed(name: string, lock: string, commandFor: (target: string) => readonly string[]): string {
  const hash = createHash("sha256").update(readFileSync(lock)).update(process.version).digest("hex").slice(0, 16);
  const folder = join(functionCache(), `${name}-${hash}`);
  if (existsSync(folder)) return folder;
  const target = mkdtempSync(join(functionCache(), `${name}-`));
  const [program = "", ...args] = commandFor(target);
  const { status, stderr, error } = spawnSync(program, args);
  if (status !== 0) {
    rmSync(target, { recursive: true });
    throw new Error(`cannot install packages for ${lock}: ${error?.message ?? String(stderr).slice(-2000)}`);
  }
  try {
    renameSync(target, folder);
  } catch {
    // Another worker was first.
    rmSync(target, { recursive: true });
  }
  return folder;
}
