import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import { extname, join } from "node:path";
import { isObject } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { documentsOf } from "./documents.ts";
import { InputError, isInputError } from "./input-error.ts";
import { STDIN, sourceName, statInput, unreadable } from "./read-input.ts";

// A folder with more files is the wrong one, such as / or a checkout.
const MAX_FILES = 1000;
/** The field that each Kubernetes object has, in YAML or JSON. */
const OBJECT = /(?:^|[\s{,])["']?apiVersion["']?\s*:/;
/** Most objects begin with their apiVersion. */
const START_BYTES = 64 * 1024;

/**
 * Like {@link documentsOf}. For a folder, reads its `.yaml`, `.yml` and `.json` files by name, but not its subfolders.
 * Files of a folder without Kubernetes objects are skipped.
 */
export async function documentsOfAll(path: string): Promise<readonly ParsedDocument[]> {
  return (await documentsByFile(path)).flatMap(({ documents }) => documents);
}

/**
 * Like {@link documentsOfAll}, with the file of each document: relative paths in a document are relative to its file.
 */
export async function documentsByFile(
  path: string,
): Promise<readonly { readonly file: string; readonly documents: readonly ParsedDocument[] }[]> {
  if (path === STDIN || !statInput(path).isDirectory()) return [{ file: path, documents: await documentsOf(path) }];
  const read: { file: string; documents: readonly ParsedDocument[] }[] = [];
  for (const file of yamlFiles(path)) {
    const documents = await objectsIn(file);
    if (documents !== undefined) read.push({ file, documents });
  }
  if (read.length === 0) throw withoutObjects(path);
  return read;
}

function yamlFiles(folder: string): readonly string[] {
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => [".yaml", ".yml", ".json"].includes(extname(name)));
  } catch (error) {
    throw unreadable(folder, error);
  }
  if (names.length === 0)
    throw new InputError(`no YAML files in the folder ${sourceName(folder)} (.yaml, .yml or .json)`);
  if (names.length > MAX_FILES)
    throw new InputError(`${names.length} files in the folder ${sourceName(folder)}; at most ${MAX_FILES} are read`);
  return names
    .toSorted()
    .map((name) => join(folder, name))
    .filter((file) => !statInput(file).isDirectory());
}

/**
 * Reads a file that was found in a folder. Undefined if it has no Kubernetes object, like a package.json, a chart's
 * values or data: the user named the folder, and not the file.
 *
 * @throws InputError as {@link documentsOf}, if an object may be what cannot be read
 */
export async function objectsIn(path: string): Promise<readonly ParsedDocument[] | undefined> {
  try {
    const documents = await documentsOf(path);
    const isEmpty = documents.length === 0;
    return isEmpty || documents.some(({ value }) => isObject(value) && ("apiVersion" in value || "kind" in value))
      ? documents
      : undefined;
  } catch (error) {
    if (isInputError(error) && statInput(path).isFile() && !OBJECT.test(startOf(path))) return undefined;
    throw error;
  }
}

export function withoutObjects(folder: string): InputError {
  return new InputError(`no Kubernetes objects in the YAML and JSON files of the folder ${sourceName(folder)}`);
}

/** The start of a file. If the file cannot be opened, returns the start of an object, so that the error is reported. */
function startOf(path: string): string {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return "apiVersion:";
  }
  try {
    const start = Buffer.alloc(START_BYTES);
    return start.toString("utf8", 0, readSync(file, start));
  } finally {
    closeSync(file);
  }
}
