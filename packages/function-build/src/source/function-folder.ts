import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { InputError, statInput } from "@xfn/input";
import { isObject } from "@xfn/json";
import { requirePlainFiles } from "../files/plain-files.ts";
import { readPackageJson } from "../package/package-json.ts";
import { type FolderContents, folderFiles } from "./folder-files.ts";
import { isLeftOutByDefault } from "./ignore-rules.ts";
import { type ModuleSource, moduleSource } from "./module-source.ts";

/** The source of an image. Paths are relative to `dir`. */
export type FunctionFolder =
  | { readonly kind: "script"; readonly dir: string; readonly entry: string }
  | ({ readonly kind: "executable"; readonly dir: string; readonly entry: string } & FolderContents)
  | ModuleSource;

// Few names, so that the entry is unambiguous. `package.json` comes first.
const ENTRIES = [
  "function.ts",
  "src/function.ts",
  "index.ts",
  "src/index.ts",
  "function.js",
  "index.js",
  "function.mjs",
  "function.cjs",
] as const;
const SOURCE = /\.[cm]?[jt]s$/;
const MODULE = /\.wasm$/;

/**
 * Finds the entry of a folder, in this order: `--entrypoint`; an executable file named `function`; the `exports` or
 * `main` of `package.json`, if that is a source file that exists; `function.ts`, `src/function.ts`, `index.ts`,
 * `src/index.ts`, `function.js`, `index.js`, `function.mjs`, `function.cjs`; the only executable file; the
 * sources of a WebAssembly module.
 *
 * @param asModule whether the folder must be the source of a module; other entries are not considered
 * @throws InputError with the names that were tried, and for a folder with devices or FIFOs
 */
export function inspectFolder(path: string, entrypoint?: string, asModule = false): FunctionFolder {
  const stat = statInput(path);
  const dir = resolve(stat.isDirectory() ? path : dirname(path));
  requirePlainFiles(dir);
  const chosen = entrypoint ?? (stat.isDirectory() ? undefined : basename(path));
  if (chosen !== undefined) return chosenEntry(dir, chosen);
  const module = moduleSource(dir);
  if (asModule) {
    if (module !== undefined) return module;
    throw new InputError(
      `${path} has no source of a WebAssembly module: no go.mod, Cargo.toml or asconfig.json; or name a .wasm file instead of the folder`,
    );
  }
  if (isExecutableFile(join(dir, "function"))) return executable(dir, "function");
  const source = [packageEntry(dir), ...ENTRIES].find((entry) => entry !== undefined && isFile(join(dir, entry)));
  if (source !== undefined) return { kind: "script", dir, entry: source };
  const files = visibleFiles(dir);
  const programs = files.filter((file) => isExecutableFile(join(dir, file)));
  const [only, second] = programs;
  if (only === undefined && module !== undefined) return module;
  if (only === undefined) {
    const script = files.find((file) => startsProgram(join(dir, file)));
    if (script !== undefined) {
      const program = join(path, script);
      throw new InputError(`${program} has a #! line, but is not executable: run chmod +x ${program}`);
    }
    throw new InputError(
      `${path} has no function: no executable file, no ${ENTRIES.join(", ")}, no package.json with a "main", and no go.mod; name another file with --entrypoint`,
    );
  }
  if (second !== undefined) {
    const names = programs.join(", ");
    throw new InputError(
      `${path} has ${programs.length} executable files (${names}): rename one to \`function\`, or choose one with --entrypoint`,
    );
  }
  return fileOf(dir, only);
}

function chosenEntry(dir: string, chosen: string): FunctionFolder {
  const entry = relative(dir, resolve(dir, chosen)).split(sep).join("/");
  if (entry.startsWith("../") || entry === ".." || entry === "")
    throw new InputError(`the entrypoint ${chosen} is not in the folder ${dir}`);
  const path = join(dir, entry);
  if (!statInput(path).isFile()) throw new InputError(`the entrypoint ${path} is not a file`);
  if (MODULE.test(entry)) return { kind: "module", dir, entry };
  // An executable script runs unchanged; a module is bundled.
  if (SOURCE.test(entry) && !isExecutableFile(path)) return { kind: "script", dir, entry };
  if (!isExecutableFile(path)) throw new InputError(`the entrypoint ${path} is not executable: chmod +x ${path}`);
  return executable(dir, entry);
}

/** Go's compiler marks modules as executable. */
function fileOf(dir: string, entry: string): FunctionFolder {
  return MODULE.test(entry) ? { kind: "module", dir, entry } : executable(dir, entry);
}

function executable(dir: string, entry: string): FunctionFolder {
  return { kind: "executable", dir, entry, ...folderFiles(dir, entry) };
}

function packageEntry(dir: string): string | undefined {
  const manifest = readPackageJson(dir);
  const exported = isObject(manifest["exports"])
    ? (manifest["exports"]["."] ?? manifest["exports"])
    : manifest["exports"];
  const condition = isObject(exported) ? (exported["import"] ?? exported["default"]) : exported;
  const entry = [condition, manifest["main"]].find((each) => typeof each === "string");
  if (typeof entry !== "string" || !SOURCE.test(entry)) return undefined;
  const inside = relative(dir, resolve(dir, entry)).split(sep).join("/");
  return inside.startsWith("../") ? undefined : inside;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** The files of a folder itself, without links and hidden ones. */
function visibleFiles(dir: string): readonly string[] {
  const entries = readdirSync(dir, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith(".") && !isLeftOutByDefault(entry.name))
    .map(({ name }) => name)
    .toSorted();
}

/** Whether a file starts with `#!`. */
function startsProgram(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const start = Buffer.alloc(2);
    return readSync(file, start) === 2 && start.toString("latin1") === "#!";
  } finally {
    closeSync(file);
  }
}

function isExecutableFile(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true && (stat.mode & 0o111) !== 0;
}
