import { readJsonStream } from "../text/json-stream.ts";
import { type ParseLimits, resolveLimits } from "../text/limits.ts";
import { looksLikeJson, parseJson, positionInJson, positionsInJson } from "../text/parse-json.ts";
import { readAsJson } from "../text/read-json.ts";
import { decodeText, type Position } from "../text/text.ts";
import type { JsonPath, JsonValue } from "../value/json-value.ts";
import { readYaml } from "../yaml/documents.ts";

/** A document of a text, with its positions. */
export interface ParsedDocument {
  value: JsonValue;
  /** The source file, for messages. */
  source: string | undefined;
  /**
   * The position of a path in the text: that of its key or list item. For a missing value, that of the nearest
   * ancestor, so that "is missing" can point to the object that lacks it.
   */
  positionOf(path: JsonPath): Position | undefined;
  /** The same for many paths, in about the time of one. */
  positionsOf?(paths: readonly JsonPath[]): (Position | undefined)[];
  /** The text of an unquoted YAML scalar that is read as a boolean, such as `y`. Undefined for other values. */
  unquotedAt?(path: JsonPath): string | undefined;
}

/** Options of the readers. */
export interface ReadOptions {
  /** The source file or step of the text, for messages. */
  source?: string;
  limits?: ParseLimits;
}

/**
 * Reads all documents of a YAML text, or all values of a JSON text, as Kubernetes does: YAML 1.1 booleans and numbers,
 * keys as strings. Integers are exact (bigint beyond 2^53), and objects have null prototypes. Empty documents are
 * skipped, and byte order marks are ignored. Duplicate keys, tags without a JSON form, NaN and infinities are errors.
 *
 * @throws {DocumentError} with every problem, with line and column
 */
export function readDocuments(input: string | Uint8Array, options: ReadOptions = {}): ParsedDocument[] {
  const { source } = options;
  const limits = resolveLimits(options.limits);
  const text = decodeText(input, limits, source);
  const json = readAsJson(text, limits, source);
  if (json !== undefined) {
    return [
      {
        value: json,
        source,
        positionOf: (path) => positionInJson(text, path),
        positionsOf: (paths) => positionsInJson(text, paths),
      },
    ];
  }
  const stream = looksLikeJson(text) ? readJsonStream(text, limits, source) : undefined;
  if (stream !== undefined) {
    return stream.map(({ value, positionsOf }) => ({
      value,
      source,
      positionsOf,
      positionOf: (path) => positionsOf([path])[0],
    }));
  }
  return readYaml(text, limits, source).map((document) => ({ ...document, source }));
}

/**
 * Reads a JSON text of a program. A text that is not JSON is an error, even if it is YAML. Integers are exact, and
 * objects have null prototypes.
 *
 * @throws {DocumentError} with line and column
 */
export function parseJsonDocument(input: string | Uint8Array, options: ReadOptions = {}): JsonValue {
  const limits = resolveLimits(options.limits);
  return parseJson(decodeText(input, limits, options.source), limits, options.source);
}
