import { CodedError } from "@xfn/errors";
import type { JsonValue } from "@xfn/json";
import { isObject, kindOf } from "../values/json.ts";

/**
 * Kubernetes field paths as Crossplane reads them: `spec.containers[0].name`, `metadata.labels['example.org/team']`,
 * `spec.items[*].name`.
 *
 * A number is an index only inside brackets. Quotes are optional around a bracketed field and are trimmed from both
 * ends of any field. `*` is an ordinary field name here. `expandWildcards` expands it where wildcards are allowed.
 */
export type FieldPath = readonly FieldPathSegment[];

/** One step of a field path: the key of an object, or the index of an array. */
export type FieldPathSegment = string | number;

/**
 * - `Syntax`: the text is not a field path
 * - `NotFound`: the object has no such field or element (it may have one later)
 * - `WrongType`: a value on the path has no fields or elements, or the value at its end has another type
 * - `IndexTooLarge`: an index beyond {@link MAX_INDEX} in a path that is written
 * - `InvalidValue`: a value that JSON cannot represent (NaN, infinite), or that is too deep or too large to copy
 * - `CannotMerge`: a list can be appended to a list only
 * - `TooManyMatches`: wildcards match too many fields
 */
export type FieldPathErrorCode =
  | "Syntax"
  | "NotFound"
  | "WrongType"
  | "IndexTooLarge"
  | "InvalidValue"
  | "CannotMerge"
  | "TooManyMatches";

/** A field path that could not be read or followed. The message names the path, never a value. */
export class FieldPathError extends CodedError<FieldPathErrorCode> {
  override readonly name = "FieldPathError";
}

/**
 * Crossplane's bound for writing since CVE-2023-27484. The index in a user's path sets the length of the list, so a
 * larger one could exhaust the memory. Reading allocates nothing and has no bound.
 */
export const MAX_INDEX = 1024;

/** The paths of the deepest CRD fields have fewer than 1,000 characters. Longer ones only cost time. */
const MAX_PATH_LENGTH = 16_384;

/** Go reads an index as an unsigned 32-bit number, and a larger number as a field. */
const MAX_UINT32 = 0xffff_ffff;

/**
 * Reads a field path. The empty text is the empty path.
 *
 * @throws {FieldPathError} `Syntax`
 */
export function parseFieldPath(text: string): FieldPath {
  if (text.length > MAX_PATH_LENGTH) {
    throw new FieldPathError(
      "Syntax",
      `field path of ${text.length} characters: the longest allowed is ${MAX_PATH_LENGTH}`,
    );
  }
  const segments: FieldPathSegment[] = [];
  let at = 0;
  while (at < text.length) {
    if (text[at] === "[") {
      const end = text.indexOf("]", at);
      if (end === -1) throw syntaxError(text, `unterminated '[' at position ${at}`);
      const inner = text.slice(at + 1, end);
      if (inner === "") throw syntaxError(text, `unexpected ']' at position ${end}`);
      const nested = inner.indexOf("[");
      if (nested !== -1) throw syntaxError(text, `unexpected '[' at position ${at + 1 + nested}`);
      segments.push(readBracketed(inner));
      at = end + 1;
    } else {
      if (text[at] === "." && at > 0) at++;
      const end = nextDelimiter(text, at);
      if (end === at) {
        const where = at < text.length ? at : at - 1;
        throw syntaxError(text, `unexpected '${text[where]}' at position ${where}`);
      }
      segments.push(trimQuotes(text.slice(at, end)));
      at = end;
    }
  }
  return segments;
}

function nextDelimiter(text: string, from: number): number {
  let at = from;
  while (at < text.length && !".[]".includes(text.charAt(at))) at++;
  return at;
}

function readBracketed(inner: string): FieldPathSegment {
  if (/^[0-9]+$/.test(inner)) {
    const index = Number(inner);
    if (index <= MAX_UINT32) return index;
  }
  return trimQuotes(inner);
}

function trimQuotes(field: string): string {
  // Loops, because /['"]+$/ takes quadratic time on many quotes followed by a letter.
  let start = 0;
  let end = field.length;
  while (start < end && isQuote(field.charAt(start))) start++;
  while (end > start && isQuote(field.charAt(end - 1))) end--;
  return field.slice(start, end);
}

function isQuote(character: string): boolean {
  return character === "'" || character === '"';
}

function syntaxError(text: string, reason: string): FieldPathError {
  return new FieldPathError("Syntax", `cannot read the field path ${JSON.stringify(text.slice(0, 200))}: ${reason}`);
}

/**
 * Prints a field path in Crossplane's form: fields with a dot, and `*`, in brackets without quotes. As in Crossplane,
 * the text does not keep empty fields, brackets in a field, or quotes at its ends.
 */
export function formatFieldPath(path: FieldPath): string {
  let text = "";
  for (const segment of path) {
    if (typeof segment === "number" || segment === "*" || segment.includes(".")) text += `[${segment}]`;
    else text += `.${segment}`;
  }
  return text.startsWith(".") ? text.slice(1) : text;
}

/**
 * Returns the value at a path, and null for the empty path, as in Crossplane. Only an object's own keys count, so that
 * `__proto__` and `constructor` match data only. A `null` at the end is a value. A `null` on the way is a WrongType.
 *
 * @throws {FieldPathError} `Syntax`, `NotFound` or `WrongType`
 */
export function getFieldPath(root: JsonValue, path: string | FieldPath): JsonValue {
  const segments = typeof path === "string" ? parseFieldPath(path) : path;
  const value = findFieldPath(root, segments);
  if (value === undefined) throw notFound(root, segments);
  return value;
}

/**
 * Like {@link getFieldPath}, but returns undefined if there is no such field or element. Most callers expect that, and
 * an exception would cost more than the search.
 *
 * @throws {FieldPathError} `WrongType`
 */
export function findFieldPath(root: JsonValue, path: FieldPath): JsonValue | undefined {
  if (path.length === 0) return null;
  let value = root;
  for (let depth = 0; depth < path.length; depth++) {
    const found = step(value, path, depth);
    if (found === undefined) return undefined;
    value = found;
  }
  return value;
}

function step(value: JsonValue, path: FieldPath, depth: number): JsonValue | undefined {
  const segment = path[depth] as FieldPathSegment;
  if (typeof segment === "number") {
    if (!Array.isArray(value)) throw wrongType(value, path, depth);
    return value[segment];
  }
  if (!isObject(value)) throw wrongType(value, path, depth);
  return Object.hasOwn(value, segment) ? value[segment] : undefined;
}

/** The error of a path whose segment `depth` does not fit the type of the value before it. */
export function wrongType(value: JsonValue, path: FieldPath, depth: number): FieldPathError {
  const wanted = typeof path[depth] === "number" ? "an array" : "an object";
  return new FieldPathError("WrongType", `${nameOf(path, depth)}: is ${kindOf(value)}, not ${wanted}`);
}

/** The error of a path whose segment `depth` is an index beyond {@link MAX_INDEX}. */
export function indexTooLarge(path: FieldPath, depth: number): FieldPathError {
  return new FieldPathError("IndexTooLarge", `${nameOf(path, depth + 1)}: the largest index is ${MAX_INDEX}`);
}

function notFound(root: JsonValue, path: FieldPath): FieldPathError {
  let depth = 0;
  while (depth < path.length - 1 && findFieldPath(root, path.slice(0, depth + 1)) !== undefined) depth++;
  const what = typeof path[depth] === "number" ? "element" : "field";
  return new FieldPathError("NotFound", `${nameOf(path, depth + 1)}: no such ${what}`);
}

function nameOf(path: FieldPath, length: number): string {
  return formatFieldPath(path.slice(0, length)) || "the object";
}

/** Whether an error reports a missing field or element, rather than a wrong path. */
export function isNotFound(error: unknown): boolean {
  return error instanceof FieldPathError && error.code === "NotFound";
}
