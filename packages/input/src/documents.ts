import { DocumentError, isObject, type JsonObject } from "@xfn/json";
import { type ParsedDocument, readDocuments, unwrapLists } from "@xfn/json/document";
import { InputError } from "./input-error.ts";
import { readInput, sourceName } from "./read-input.ts";

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

/**
 * Reads the only document of a file, an object, with the positions of its fields.
 *
 * @throws InputError for another number or type
 */
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
