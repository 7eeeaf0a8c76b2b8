import { DocumentError } from "@xfn/json";
import { type ParsedDocument, type ReadOptions, readDocuments } from "@xfn/json/document";
import { checkFunctionIO } from "./check-functionio.ts";
import { checkEntries, checkObjects, type FunctionIOLimits } from "./entries.ts";
import type { OutputOptions } from "./fatal-output.ts";
import { type FunctionIO, KIND } from "./functionio.ts";
import { FunctionIOError } from "./functionio-error.ts";
import type { ValidateOptions } from "./validate.ts";

/** Options of {@link parseFunctionIO}. */
export interface ParseOptions extends ReadOptions, ValidateOptions, OutputOptions {
  limits?: FunctionIOLimits;
}

/**
 * Parses and validates one FunctionIO in JSON or YAML. Unknown fields survive. A null instead of an object or a list is
 * dropped, and a missing `observed` becomes `{}`.
 *
 * @throws {FunctionIOError} with all issues, their field paths, lines and columns
 */
export function parseFunctionIO(text: string | Uint8Array, options: ParseOptions = {}): FunctionIO {
  const { source, limits } = options;
  const document = onlyDocument(text, options, KIND);
  if (limits?.maxEntries !== undefined) checkEntries(document.value, limits.maxEntries, source);
  if (limits?.maxObjectValues !== undefined) checkObjects(document.value, limits.maxObjectValues, source);
  return checkFunctionIO(document, options);
}

/**
 * Reads a text with one document.
 *
 * @param kind what is expected, for messages
 * @throws {FunctionIOError}
 */
export function onlyDocument(text: string | Uint8Array, options: ReadOptions, kind: string): ParsedDocument {
  const { source } = options;
  let documents: ParsedDocument[];
  try {
    documents = readDocuments(text, options);
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    throw new FunctionIOError(error.code, error.issues, error.source, { cause: error });
  }
  const [document, second] = documents;
  if (document === undefined) {
    const message = `expected a ${kind}, found nothing`;
    throw new FunctionIOError("Empty", [{ path: "", message }], source);
  }
  if (second !== undefined) {
    const message = `expected one ${kind}, found ${documents.length} documents`;
    throw new FunctionIOError("MultipleDocuments", [{ path: "", message, ...second.positionOf([]) }], source);
  }
  return document;
}
