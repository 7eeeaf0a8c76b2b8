import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { InputError } from "@xfn/input";

// Bounds the compiler's output: a damaged type package can make it print without end.
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/**
 * Checks a function's types with the TypeScript of its folder, else with the one beside xfn. Uses the folder's
 * `tsconfig.json`, else `strict`.
 *
 * @returns false if no TypeScript is installed
 * @throws InputError with `file:line:column` lines
 */
export async function typeCheck(dir: string, entry: string, signal: AbortSignal): Promise<boolean> {
  const compiler = findCompiler(dir);
  if (compiler === undefined) return false;
  // In a temporary folder, because the function's folder may be read-only.
  const scratch = mkdtempSync(join(tmpdir(), "xfn-types-"));
  try {
    const config = join(scratch, "tsconfig.json");
    writeFileSync(config, JSON.stringify(configFor(dir, entry)));
    const { code, output } = await run(compiler, ["--project", config, "--pretty", "false"], dir, signal);
    const lines = output
      .split("\n")
      .map((line) => relocate(line.trimEnd(), dir))
      .filter((line) => line !== "");
    if (code !== 0)
      throw new InputError("the function has type errors (--no-check skips the check)", { details: lines });
    return true;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function findCompiler(dir: string): string | undefined {
  for (const from of [join(dir, "index.js"), fileURLToPath(import.meta.url)]) {
    const manifest = resolveFrom(from, "typescript/package.json");
    if (manifest === undefined) continue;
    const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { bin?: { tsc?: string } };
    if (bin?.tsc !== undefined) return join(dirname(manifest), bin.tsc);
  }
  return undefined;
}

function resolveFrom(file: string, specifier: string): string | undefined {
  try {
    return createRequire(file).resolve(specifier);
  } catch {
    return undefined;
  }
}

/** A project of the entry and its imports; tests beside it are not checked. */
function configFor(dir: string, entry: string): object {
  const own = join(dir, "tsconfig.json");
  const hasOwn = existsSync(own);
  const paths = sdkPaths(dir);
  const defaults = {
    strict: true,
    target: "es2024",
    module: "preserve",
    moduleResolution: "bundler",
    resolveJsonModule: true,
    skipLibCheck: true,
    lib: ["es2024", "esnext.disposable"],
    types: typeRoots(dir).some((root) => existsSync(join(root, "node"))) ? ["node"] : [],
  };
  return {
    ...(hasOwn ? { extends: own } : {}),
    compilerOptions: {
      ...(hasOwn ? {} : defaults),
      // Overrides the folder's build settings: this project is only checked.
      noEmit: true,
      allowImportingTsExtensions: true,
      composite: false,
      incremental: false,
      declaration: false,
      declarationMap: false,
      emitDeclarationOnly: false,
      isolatedDeclarations: false,
      // The default is relative to this project, which is in a temporary folder.
      typeRoots: typeRoots(dir),
      rootDir: "/",
      ...(paths === undefined ? {} : { paths }),
    },
    // Overrides the `include` of the folder's settings.
    include: [],
    files: [join(dir, entry)],
  };
}

function typeRoots(dir: string): string[] {
  const folders = [dir, dirname(fileURLToPath(import.meta.url))];
  return folders
    .flatMap(ancestors)
    .map((folder) => join(folder, "node_modules", "@types"))
    .filter(existsSync);
}

function ancestors(folder: string): string[] {
  return dirname(folder) === folder ? [folder] : [folder, ...ancestors(dirname(folder))];
}

/** Paths of xfn's own SDK, for a folder without one. */
function sdkPaths(dir: string): Record<string, string[]> | undefined {
  if (hasSdk(dir)) return undefined;
  const entry = fileURLToPath(import.meta.resolve("@xfn/functionio"));
  const root = dirname(dirname(entry));
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    exports: Record<string, { types: string }>;
  };
  return Object.fromEntries(
    Object.entries(exports).map(([subpath, { types }]) => [join("@xfn/functionio", subpath), [join(root, types)]]),
  );
}

// Checks the file, because the package exports neither its package.json nor an entry for `require`.
function hasSdk(dir: string): boolean {
  return ancestors(dir).some((folder) =>
    existsSync(join(folder, "node_modules", "@xfn", "functionio", "package.json")),
  );
}

function run(
  compiler: string,
  args: readonly string[],
  cwd: string,
  signal: AbortSignal,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [compiler, ...args], { cwd, stdio: ["ignore", "pipe", "inherit"], signal });
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
