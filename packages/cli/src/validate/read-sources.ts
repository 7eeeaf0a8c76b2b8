import { type Dirent, readdirSync, realpathSync } from "node:fs";
import { extname, join } from "node:path";
import {
  documentsOf,
  InputError,
  objectsIn,
  STDIN,
  sourceName,
  statInput,
  unreadable,
  withoutObjects,
} from "@xfn/input";
import type { ParsedDocument } from "@xfn/json/document";
import { usageError } from "../errors/cli-error.ts";

// A folder with more files is the wrong one, such as / or a checkout.
const MAX_FILES = 1000;
// Bounds the search before files are counted.
const MAX_FOLDERS = 1000;

/**
 * Reads all documents of a comma-separated list of files, folders and `-` for stdin. In folders and their subfolders,
 * reads `.yaml`, `.yml` and `.json` files by name, and skips those without Kubernetes objects.
 *
 * @throws InputError with `file:line:column` lines
 */
export async function readSources(list: string): Promise<readonly ParsedDocument[]> {
  const sources = sourcesOf(list);
  if (sources.length === 0) throw usageError("the list of files is empty");
  const read = sources.map((source) =>
    source !== STDIN && statInput(source).isDirectory() ? { folder: source, files: filesOf(source) } : { file: source },
  );
  if (read.flatMap(({ files = [""] }) => files).length > MAX_FILES) throw tooMany(list);
  const documents: ParsedDocument[] = [];
  for (const { file, folder, files } of read)
    documents.push(...(file === undefined ? await documentsBelow(folder, files) : await documentsOf(file)));
  return documents;
}

async function documentsBelow(folder: string, files: readonly string[]): Promise<readonly ParsedDocument[]> {
  const found: (readonly ParsedDocument[])[] = [];
  for (const file of files) {
    const documents = await objectsIn(file);
    if (documents !== undefined) found.push(documents);
  }
  if (found.length === 0) throw withoutObjects(folder);
  return found.flat();
}

/** Whether a list reads stdin. */
export function readsStdin(list: string): boolean {
  return sourcesOf(list).includes(STDIN);
}

/** The items of a comma-separated list, without the spaces around them. */
export function sourcesOf(list: string): string[] {
  return list
    .split(",")
    .map((source) => source.trim())
    .filter((source) => source !== "");
}

function filesOf(root: string): string[] {
  const files: string[] = [];
  // Visit each folder once, because symbolic links may form a cycle.
  const visited = new Set<string>();
  const folders = [root];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const real = realPath(next);
    if (visited.has(real)) continue;
    visited.add(real);
    if (visited.size > MAX_FOLDERS) throw tooMany(root);
    for (const entry of entriesOf(next)) {
      const path = join(next, entry.name);
      if (entry.name === "node_modules") continue;
      if (isFolder(entry, path)) folders.push(path);
      else if ([".yaml", ".yml", ".json"].includes(extname(entry.name))) files.push(path);
    }
    if (files.length > MAX_FILES) throw tooMany(root);
  }
  if (files.length === 0)
    throw new InputError(`no YAML files in the folder ${sourceName(root)} (.yaml, .yml or .json)`);
  return files.toSorted();
}

function realPath(folder: string): string {
  try {
    return realpathSync(folder);
  } catch (error) {
    throw unreadable(folder, error);
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    throw unreadable(folder, error);
  }
}

function isFolder(entry: Dirent, path: string): boolean {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  // A dangling link matters only if it has the name of a file; reading it reports the error.
  return extname(entry.name) === "" ? isLinkToFolder(path) : statInput(path).isDirectory();
}

function isLinkToFolder(path: string): boolean {
  try {
    return statInput(path).isDirectory();
  } catch {
    return false;
  }
}

function tooMany(source: string): Error {
  return new InputError(`more than ${MAX_FILES} files or folders in ${sourceName(source)}: is it the right one?`);
}
