import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { InputError } from "@xfn/input";
import { MAX_SOURCE_BYTES, requirePlainFiles } from "../files/plain-files.ts";
import { type CheckProject, checkProject } from "./check-project.ts";

// Bounds the compiler's output: a damaged type package can make it print without end.
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/** Stands for all JSON files: those of more than 16 MiB would fill the compiler's memory. */
const UNTYPED_JSON = 'declare module "*.json";\n';

/** Errors about settings: without a place, or with one in a JSON file. */
const SETTINGS_ERROR = /^(?:[^()]*\.json\(\d+,\d+\): )?error TS/;

/**
 * Checks a function's types with the TypeScript of xfn's installation: a compiler in the folder would be code of the
 * folder, which a build must not run. Uses the folder's `tsconfig.json` as far as that compiler accepts it, else
 * `strict`.
 *
 * @returns a note for a person
 * @throws InputError with `file:line:column` lines
 */
export async function typeCheck(dir: string, entry: string, signal: AbortSignal): Promise<string | undefined> {
  const program = compiler();
  if (program === undefined)
    return "types were not checked: TypeScript is not installed beside xfn (npm install typescript@7)";
  const own = join(dir, "tsconfig.json");
  const [large] = requirePlainFiles(dir);
  const check = (settings: string | undefined): Promise<readonly string[]> =>
    errorsOf(program, dir, checkProject(dir, entry, settings), large === undefined, signal);
  const untyped = large && `the types of JSON files were not checked: ${large} has more than ${MAX_SOURCE_BYTES} bytes`;
  if (existsSync(own)) {
    const errors = await check(own);
    const unusable = errors.find((line) => SETTINGS_ERROR.test(line));
    if (unusable === undefined) {
      report(errors, dir);
      return untyped;
    }
    report(await check(undefined), dir);
    return `types were checked as strict: tsconfig.json cannot be used (${unusable.replace(/^.*error /, "")})`;
  }
  report(await check(undefined), dir);
  return untyped;
}

function report(errors: readonly string[], dir: string): void {
  if (errors.length > 0)
    throw new InputError("the function has type errors (--no-check skips the check)", {
      details: errors.map((line) => relocate(line, dir)),
    });
}

/** The lines that the compiler prints for a project, none if it has no errors. */
async function errorsOf(
  program: string,
  dir: string,
  project: CheckProject,
  readsJson: boolean,
  signal: AbortSignal,
): Promise<readonly string[]> {
  // In a temporary folder, because the function's folder may be read-only.
  const scratch = mkdtempSync(join(tmpdir(), "xfn-types-"));
  try {
    const [config, declaration] = [join(scratch, "tsconfig.json"), join(scratch, "json.d.ts")];
    writeFileSync(declaration, UNTYPED_JSON);
    writeFileSync(config, JSON.stringify(readsJson ? project : withoutJson(project, declaration)));
    const { code, output } = await run([program, "--project", config, "--pretty", "false"], dir, signal);
    const lines = output
      .split("\n")
      .map((line) => line.trimEnd())
      .filter((line) => line !== "");
    return code === 0 ? [] : lines.length === 0 ? [`the compiler ended with exit code ${code}`] : lines;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function withoutJson(project: CheckProject, declaration: string): CheckProject {
  const compilerOptions = { ...project.compilerOptions, resolveJsonModule: false };
  return { ...project, compilerOptions, files: [...project.files, declaration] };
}

/** The TypeScript compiler, an optional peer dependency of 31 MB; undefined if it is not installed. */
function compiler(): string | undefined {
  let manifest: string;
  try {
    manifest = fileURLToPath(import.meta.resolve("typescript/package.json"));
  } catch {
    return undefined;
  }
  const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { bin: { tsc: string } };
  return join(dirname(manifest), bin.tsc);
}

function run(
  args: readonly string[],
  cwd: string,
  signal: AbortSignal,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "inherit"], signal });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      if (output.length < MAX_OUTPUT_BYTES) output += chunk;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}

/**
 * Rewrites `function.ts(3,5): error TS1: ...` to `function.ts:3:5: error TS1: ...`, relative to the working directory.
 */
function relocate(line: string, dir: string): string {
  const match = /^(.+?)\((\d+),(\d+)\): (.*)$/.exec(line);
  if (match === null) return line;
  const [, file = "", row, column, rest] = match;
  return `${relative(process.cwd(), join(dir, file)) || file}:${row}:${column}: ${rest}`;
}
