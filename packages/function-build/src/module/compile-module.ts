import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { InputError } from "@xfn/input";
import { isObject } from "@xfn/json";
import { MAX_MODULE_BYTES } from "@xfn/wasm/module";
import type { ModuleLanguage } from "../source/module-source.ts";
import { type Compilation, runCompiler } from "./compiler-process.ts";

/** A compiler of WebAssembly modules. */
interface Compiler {
  readonly title: string;
  /** How to install it, for the message if it is missing. */
  readonly install: string;
  /** Whether it runs code of the folder, such as a build script. */
  readonly runsFolder: boolean;
  /** @param output the file to write @returns undefined if the compiler is missing */
  command(dir: string, output: string): readonly [string, ...string[]] | undefined;
  readonly env?: Readonly<Record<string, string>>;
  /** The file that it wrote. Default: `output`. */
  written?(run: Compilation, dir: string, output: string): string;
}

const COMPILERS: Readonly<Record<ModuleLanguage, Compiler>> = {
  go: {
    title: "Go",
    install: "install Go 1.21 or newer (https://go.dev/dl)",
    runsFolder: false,
    // The same sources give the same bytes in any folder.
    command: (_, output) => ["go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", output, "."],
    // go.mod can name another toolchain, which Go would download and run.
    env: { GOOS: "wasip1", GOARCH: "wasm", CGO_ENABLED: "0", GOTOOLCHAIN: "local" },
    written: (_, dir, output) => goProgram(dir, output),
  },
  rust: {
    title: "Rust",
    install: "install Rust 1.78 or newer with the target: rustup target add wasm32-wasip1",
    runsFolder: true,
    command: () => [
      ...(["cargo", "build", "--release", "--target", "wasm32-wasip1"] as const),
      "--message-format=json-render-diagnostics",
    ],
    written: cargoModule,
  },
  assemblyscript: {
    title: "AssemblyScript",
    install: "install it in the folder: npm install --save-dev assemblyscript @assemblyscript/wasi-shim",
    runsFolder: true,
    command(dir, output) {
      const compiler = assemblyScript(dir);
      if (compiler === undefined) return undefined;
      const entry = ["assembly/index.ts", "index.ts"].filter((file) => existsSync(join(dir, file))).slice(0, 1);
      return [process.execPath, compiler, ...entry, "--config", "asconfig.json", "--target", "release", "-o", output];
    },
  },
};

/** Errors of cargo without the target's standard library, and of Rust before 1.78, which does not know the target. */
const NO_TARGET =
  /target may not be installed|toolchain .* does not (contain|support)|Could not find specification for target/;

/** More lines hide the first error. */
const MAX_LINES = 40;

/** Options of {@link compileModule}. */
export interface CompileOptions {
  /** Whether the caller agrees to run code of the folder. */
  readonly mayRunFolder: boolean;
  readonly signal: AbortSignal;
}

/**
 * Compiles a folder to a WebAssembly module for WASI preview 1, with the compiler of this machine.
 *
 * @throws InputError with the compiler's errors, or with the way to install the compiler
 */
export async function compileModule(
  dir: string,
  language: ModuleLanguage,
  { mayRunFolder, signal }: CompileOptions,
): Promise<Buffer> {
  const compiler = COMPILERS[language];
  const { title, runsFolder, env } = compiler;
  if (runsFolder && !mayRunFolder)
    throw new InputError(
      `${dir} is a function in ${title}, whose compiler runs code of the folder: allow it with xfn build --platform wasip1/wasm, or compile it yourself and build the .wasm file`,
    );
  const scratch = mkdtempSync(join(tmpdir(), "xfn-module-"));
  try {
    const output = join(scratch, "module.wasm");
    const command = compiler.command(dir, output);
    const run = command && (await runCompiler(command, { cwd: dir, signal, ...(env && { env }) }));
    if (run === undefined || run.code === undefined) throw missing(dir, compiler);
    if (run.code !== 0) throw failed(dir, compiler, run);
    return readModule(compiler.written?.(run, dir, output) ?? output);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Reads a module. @throws InputError if it is too large */
export function readModule(path: string): Buffer {
  const { size } = statSync(path);
  if (size > MAX_MODULE_BYTES)
    throw new InputError(
      `${path} has ${size} bytes, more than the ${MAX_MODULE_BYTES} of a module: build it without debug information`,
    );
  return readFileSync(path);
}

function missing(dir: string, { title, install }: Compiler): InputError {
  return new InputError(
    `${dir} is a function in ${title}, whose compiler is missing: ${install}, or build a .wasm file that another machine compiled`,
  );
}

function failed(dir: string, { title, install }: Compiler, { stdout, stderr }: Compilation): InputError {
  const text = `${stdout.startsWith("{") ? "" : stdout}${stderr}`;
  if (NO_TARGET.test(text)) return new InputError(`the compiler of ${dir} has no target wasm32-wasip1: ${install}`);
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const details = lines.slice(0, MAX_LINES);
  return new InputError(`the function has errors: ${title}'s compiler refuses ${dir}`, { details });
}

/** Go writes an archive for a package that is not a program. */
function goProgram(dir: string, output: string): string {
  if (readFileSync(output).subarray(0, ARCHIVE.length).toString("latin1") !== ARCHIVE) return output;
  throw new InputError(`${dir} is a library: a function in Go is a package main`);
}

const ARCHIVE = "!<arch>";

/** The only program of a package: cargo prints a line of JSON for each artifact. */
function cargoModule({ stdout }: Compilation, dir: string): string {
  const programs = stdout.split("\n").flatMap((line) => {
    if (!line.startsWith("{")) return [];
    const message: unknown = JSON.parse(line);
    const path = isObject(message) && message["reason"] === "compiler-artifact" ? message["executable"] : undefined;
    return typeof path === "string" ? [path] : [];
  });
  const [only, second] = programs;
  if (only !== undefined && second === undefined) return only;
  const has = only === undefined ? "no program" : `${programs.length} programs`;
  throw new InputError(`${dir} has ${has}; a function is a package with one src/main.rs or one [[bin]]`);
}

/** AssemblyScript is a package of the folder, or of one above it. */
function assemblyScript(dir: string): string | undefined {
  const compiler = join(dir, "node_modules/assemblyscript/bin/asc.js");
  if (existsSync(compiler)) return compiler;
  return dirname(dir) === dir ? undefined : assemblyScript(dirname(dir));
}
