import { readdirSync } from "node:fs";
import { extname, join } from "node:path";
import { DocumentError, isObject, type JsonObject } from "@xfn/functionio";
import { type ParsedDocument, readDocuments } from "@xfn/functionio/document";
import { InputError } from "./input-error.ts";
import { readInput, STDIN, sourceName, statInput, unreadable } from "./read-input.ts";

// A folder with more files than this is the wrong folder, such as / or a checkout.
const MAX_FILES = 1000;

/**
 * All documents of a YAML or JSON file, or of `-` for stdin.
 *
 * @throws InputError with `file:line:column` lines
 */
export async function documentsOf(path: string): Promise<readonly ParsedDocument[]> {
  const bytes = await readInput(path);
  return asInputError(path, () => readDocuments(bytes, { source: sourceName(path) }));
}

/** Like {@link documentsOf}, for a file or the `.yaml`, `.yml` and `.json` files of a folder (not of its subfolders), by name. */
export async function documentsOfAll(path: string): Promise<readonly ParsedDocument[]> {
  return (await documentsByFile(path)).flatMap(({ documents }) => documents);
}

/** Like {@link documentsOfAll}, with the file that each document is in: what a file names is seen from there. */
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

/** Runs a parser; what it finds wrong in the file becomes wrong input, with the parser's own `file:line:column` lines. */
export function asInputError<T>(path: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof DocumentError || isCompositionError(error)) {
      const subject = `${sourceName(path)} cannot be used`;
      throw new InputError(subject, { details: error.message.split("\n"), cause: error });
    }
    throw error;
  }
}

function isCompositionError(error: unknown): error is Error {
  return error instanceof Error && error.name === "CompositionError";
}

/** The one document of a file that should hold an object. */
export async function singleObject(path: string, what: string): Promise<JsonObject> {
  const documents = await documentsOf(path);
  const [first, second] = documents;
  if (first === undefined) throw new InputError(`${sourceName(path)} is empty; ${what} is needed`);
  if (second !== undefined) {
    throw new InputError(`${sourceName(path)} holds ${documents.length} documents; ${what} is one`, {
      details: [place(second)],
    });
  }
  if (!isObject(first.value))
    throw new InputError(`${sourceName(path)} does not hold an object; ${what} is needed`, { details: [place(first)] });
  return first.value;
}

/** `file:line:column` of a document, for a message. */
export function place(document: ParsedDocument): string {
  const position = document.positionOf([]);
  const parts = [document.source, position?.line, position?.column];
  return `${parts.filter((part) => part !== undefined).join(":")}: this document`;
}
