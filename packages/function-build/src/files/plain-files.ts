import { existsSync, readdirSync, type Stats, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { InputError } from "@xfn/input";
import { readSettings } from "./typescript-settings.ts";

/** Sources and settings that compilers and the bundler read whole. Generated code has some MiB. */
export const MAX_SOURCE_BYTES: number = 16 * 1024 * 1024;
const SOURCE = /\.(?:[cm]?[jt]sx?|json|jsonc|toml|mod|sum|lock)$|^\.(?:docker|git)ignore$/i;
/** Compilers and the bundler read these by their names. Other JSON files can be data that nothing imports. */
const JSON_SETTINGS = /^(?:package|package-lock|tsconfig|jsconfig|asconfig)\.json$/i;

/** Hidden files that builds read. Other hidden ones are not part of a function. */
const READ_HIDDEN: ReadonlySet<string> = new Set([".dockerignore", ".gitignore"]);
/** Installed packages have tens of thousands of files. The bundler reads their package.json first. */
const PACKAGES = "node_modules";
/** A folder with more is a home or a checkout. Reading their names takes a second. */
const MAX_ENTRIES = 100_000;

/**
 * Checks the files of a folder before any tool reads them: a compiler reads a link to /dev/zero until its memory is
 * full, and waits forever for a FIFO.
 *
 * @returns the JSON files that are too large for a source, but may be data
 * @throws InputError for what is neither a file nor a folder, and for a source that is too large
 */
export function requirePlainFiles(dir: string): readonly string[] {
  const largeJson: string[] = [];
  let count = 0;
  const visit = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      count += 1;
      if (count > MAX_ENTRIES)
        throw new InputError(`${dir} has more than ${MAX_ENTRIES} files; is it the function's folder?`);
      const { name } = entry;
      const path = join(folder, name);
      if (name === PACKAGES) requirePackages(path);
      else if (!name.startsWith(".") || READ_HIDDEN.has(name)) {
        if (entry.isDirectory()) visit(path);
        else if (!/\.json$/i.test(name) || JSON_SETTINGS.test(name)) requirePlainFile(path);
        else if (plainSize(path) > MAX_SOURCE_BYTES) largeJson.push(path);
      }
    }
  };
  visit(dir);
  requireSettings(join(dir, "tsconfig.json"), new Set());
  return largeJson;
}

/** @throws InputError as {@link requirePlainFiles}; not for a missing file, or a link to a folder */
export function requirePlainFile(path: string): void {
  const size = plainSize(path);
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (size > MAX_SOURCE_BYTES && SOURCE.test(name))
    throw new InputError(`${path} has ${size} bytes; a source has at most ${MAX_SOURCE_BYTES}`);
}

/** The bytes of a file; 0 if it is missing, or a link to a folder. */
function plainSize(path: string): number {
  const stat = statOf(path);
  if (stat === undefined || stat.isDirectory()) return 0;
  if (!stat.isFile()) throw new InputError(`${path} is neither a file nor a folder, so nothing can be built of it`);
  return stat.size;
}

function requirePackages(folder: string, isScope = false): void {
  if (statOf(folder)?.isDirectory() !== true) return;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    // A scope has no scopes. A link could make it contain itself.
    if (name.startsWith("@") && !isScope) requirePackages(path, true);
    else for (const file of ["package.json", "tsconfig.json"]) requirePlainFile(join(path, file));
  }
}

/** Checks the settings of TypeScript, and those that they extend, wherever those are. Each file is read once. */
function requireSettings(path: string, known: Set<string>): void {
  if (known.has(path)) return;
  known.add(path);
  requirePlainFile(path);
  if (statOf(path)?.isFile() !== true) return;
  const { extends: own } = readSettings(path);
  const names: unknown[] = Array.isArray(own) ? own : [own];
  for (const name of names) if (typeof name === "string") extendedBy(path, name, known);
}

function extendedBy(path: string, name: string, known: Set<string>): void {
  const folders = /^(?:\.{0,2}\/|\.{1,2}$)/.test(name) ? [dirname(path)] : packageFolders(dirname(path));
  for (const folder of folders) {
    const found = resolve(folder, name);
    for (const file of [found, `${found}.json`, join(found, "tsconfig.json")])
      if (existsSync(file)) requireSettings(file, known);
  }
}

function packageFolders(folder: string): string[] {
  const own = join(folder, PACKAGES);
  return dirname(folder) === folder ? [own] : [own, ...packageFolders(dirname(folder))];
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // A cycle of links, or a folder that cannot be searched: no tool can read it either.
    return undefined;
  }
}
