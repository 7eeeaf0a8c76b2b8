import { readdirSync } from "node:fs";
import { extname, join } from "node:path";
import { DocumentError, isObject, type JsonObject } from "@xfn/functionio";
import { type ParsedDocument, readDocuments, unwrapLists } from "@xfn/functionio/document";
import { InputError } from "./input-error.ts";
import { readInput, STDIN, sourceName, statInput, unreadable } from "./read-input.ts";

// A folder with more files is the wrong one, such as / or a checkout.
const MAX_FILES = 1000;

/**
 * Reads all documents of a YAML or JSON file, or of stdin for `-`. Replaces lists of objects by their items, as kubectl
 * does.
 *
 * @throws InputError with `file:line:column` lines
 */
export async function documentsOf(path: string): Promise<readonly ParsedDocument[]> {
  const bytes = await readInput(path);
  return asInputError(path, () => unwrapLists(readDocuments(bytes, { source: sourceName(path) })));
}

/**
 * Like {@link documentsOf}. For a folder, reads its `.yaml`, `.yml` and `.json` files by name, but not its subfolders.
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
  const files = path === STDIN || !statInput(path).isDirectory() ? [path] : yamlFiles(path);
  const read: { file: string; documents: readonly ParsedDocument[] }[] = [];
  for (const file of files) read.push({ file, documents: await documentsOf(file) });
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
 * Runs a parser, and translates its error to an {@link InputError} with the parser's `file:line:column` lines.
 *
 * @param isParseError - recognises the errors of parsers other than {@link readDocuments}
 */
export function asInputError<T>(
  path: string,
  parse: () => T,
  isParseError: (error: Error) => boolean = () => false,
): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof Error && (error instanceof DocumentError || isParseError(error))) {
      const subject = `${sourceName(path)} cannot be used`;
      throw new InputError(subject, { details: error.message.split("\n"), cause: error });
    }
    throw error;
  }
}

/** Reads the only document of a file, an object. @throws InputError for another number or type */
export async function singleObject(path: string, what: string): Promise<JsonObject> {
  return (await singleDocument(path, what)).value;
}

/** Like {@link singleObject}, with the positions of its fields. */
export async function singleDocument(
  path: string,
  what: string,
): Promise<ParsedDocument & { readonly value: JsonObject }> {
  const documents = await documentsOf(path);
  const [first, second] = documents;
  if (first === undefined) throw new InputError(`${sourceName(path)} is empty; ${what} is needed`);
  if (second !== undefined) {
    throw new InputError(`${sourceName(path)} has ${documents.length} documents; ${what} is one`, {
      details: [positionOf(second)],
    });
  }
  if (!isObject(first.value))
    throw new InputError(`${sourceName(path)} is not an object; ${what} is needed`, { details: [positionOf(first)] });
  return { ...first, value: first.value };
}

/** A line with the position of a document, for an error: `file:line:column: this document`. */
export function positionOf(document: ParsedDocument): string {
  const position = document.positionOf([]);
  const parts = [document.source, position?.line, position?.column];
  return `${parts.filter((part) => part !== undefined).join(":")}: this document`;
}
