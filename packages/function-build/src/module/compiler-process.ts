import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { promisify } from "node:util";

// Bounds the output of compilers: cargo prints a line of JSON for each dependency.
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** A run of a compiler. */
export interface Compilation {
  /** Undefined: there is no such program. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a compiler in a folder, with the environment of this process. */
export async function runCompiler(
  [program, ...args]: readonly [string, ...string[]],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>>; readonly signal: AbortSignal },
): Promise<Compilation> {
  const { cwd, signal } = options;
  const path = pathOf(program);
  if (path === undefined) return { code: undefined, stdout: "", stderr: "" };
  const env = { ...process.env, ...options.env };
  try {
    return { code: 0, ...(await start(path, args, { cwd, env, signal, maxBuffer: MAX_OUTPUT_BYTES })) };
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error)) throw error;
    if (typeof error.code !== "number" || !("stdout" in error && "stderr" in error)) throw error;
    return { code: error.code, stdout: String(error.stdout), stderr: String(error.stderr) };
  }
}

const start = promisify(execFile);

/**
 * The path of a program. A relative or empty entry of PATH would find one in the folder, which a build must not run.
 */
function pathOf(program: string): string | undefined {
  if (isAbsolute(program)) return program;
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, program)).find(existsSync);
}
