import { formatPath, type JsonPath, type JsonValue } from "../value/json-value.ts";
import { DocumentError, type Issue, UNNAMED_ISSUE } from "./document-error.ts";
import { inspectJson, locateJson } from "./json-inspect.ts";
import { MAX_ISSUES, type ResolvedLimits } from "./limits.ts";
import { nativeJson, newMark } from "./native-json.ts";
import { notJson } from "./not-json.ts";
import { type Position, positionAt, positionsIn } from "./text.ts";

/** Whether a text is meant as JSON: its first character opens an object or an array. */
export function looksLikeJson(text: string): boolean {
  return /^[ \t\r\n]*[{[]/.test(text);
}

/**
 * Parses JSON: `JSON.parse` between two cheap passes. The first pass, over the text, finds what `JSON.parse` hides:
 * depth, duplicate keys and integers beyond 2^53. The second, over the value, removes prototypes.
 *
 * @throws {DocumentError} Syntax, TooDeep, DuplicateKey, NotJson
 */
export function parseJson(text: string, limits: ResolvedLimits, source: string | undefined): JsonValue {
  const scan = scanJson(text, limits);
  if (scan.tooDeep !== undefined) {
    const issue = { path: "", message: `is nested deeper than ${limits.maxDepth}`, ...positionAt(text, scan.tooDeep) };
    throw new DocumentError("TooDeep", [issue], source);
  }
  if (scan.tooMany) {
    const message = `has more than ${limits.maxValues} fields and items`;
    throw new DocumentError("TooManyValues", [{ path: "", message }], source);
  }
  const mark = scan.integers.length === 0 ? "" : newMark(text);
  let value: JsonValue;
  try {
    value = nativeJson(mark === "" ? text : markIntegers(text, scan.integers, mark)) as JsonValue;
  } catch (cause) {
    throw failure(text, source, cause);
  }
  const adopted = { keys: 0, bad: false, checkStrings: scan.surrogate, mark };
  if (typeof value === "object") adopt(value, adopted);
  else value = leaf(value, adopted);
  if (adopted.keys !== scan.colons) throw failure(text, source, undefined);
  if (adopted.bad) {
    const found = notJson(value);
    if (found !== undefined) {
      const position = positionInJson(text, found.path);
      throw new DocumentError(
        "NotJson",
        [{ path: formatPath(found.path), message: found.message, ...position }],
        source,
      );
    }
  }
  return value;
}

/** The position of a path in a valid JSON text, or of its nearest ancestor if the path does not exist. */
export function positionInJson(text: string, path: JsonPath): Position {
  return positionsInJson(text, [path])[0] as Position;
}

/** The same for many paths, in one walk. @param positionOf the position of an offset. Default: that in the text */
export function positionsInJson(
  text: string,
  paths: readonly JsonPath[],
  positionOf: (offset: number) => Position = positionsIn(text),
): Position[] {
  return locateJson(text, paths).map(positionOf);
}

/** The cost of a marked integer or key in memory and time, in values. */
const COSTLY = 9;

interface Scan {
  /** Offset of the first bracket that exceeds the depth limit, where the scan ended. */
  tooDeep: number | undefined;
  /** Whether the text has more values than the limit, where the scan ended. */
  tooMany: boolean;
  /** Colons outside strings: the number of keys. */
  colons: number;
  /** Offsets (start, end) of integers that a double may not represent exactly. */
  integers: number[];
  /** Whether an escape can have produced a lone surrogate. */
  surrogate: boolean;
}

function scanJson(text: string, { maxDepth, maxValues }: ResolvedLimits): Scan {
  const scan: Scan = { tooDeep: undefined, tooMany: false, colons: 0, integers: [], surrogate: false };
  const end = text.length;
  let depth = 0;
  // Each value but the first of a list or an object follows a comma.
  let values = 0;
  let escaped = false;
  for (let at = 0; at < end; at++) {
    const c = text.charCodeAt(at);
    if (c === 0x22) {
      for (at++; at < end; at++) {
        const s = text.charCodeAt(at);
        if (s === 0x22) break;
        if (s !== 0x5c) continue;
        at++;
        escaped = true;
        // \uD800 to \uDFFF
        if (text.charCodeAt(at) === 0x75 && (text.charCodeAt(at + 1) | 0x20) === 0x64) scan.surrogate = true;
      }
      if (escaped && isKey(text, at + 1)) values += COSTLY;
      escaped = false;
    } else if (c === 0x3a) scan.colons++;
    else if (c === 0x2c) values++;
    else if (c === 0x7b || c === 0x5b) {
      if (++depth > maxDepth) {
        scan.tooDeep = at;
        return scan;
      }
      if (++values > maxValues) break;
    } else if (c === 0x7d || c === 0x5d) depth--;
    else if (c === 0x2d || (c >= 0x30 && c <= 0x39)) {
      const start = at;
      while (isNumberCharacter(text.charCodeAt(at + 1))) at++;
      if (at - start >= 15 && isLongInteger(text, start, at + 1)) {
        scan.integers.push(start, at + 1);
        values += COSTLY;
        if (values > maxValues) break;
      }
    }
  }
  scan.tooMany = values > maxValues;
  return scan;
}

function isNumberCharacter(c: number): boolean {
  return (c >= 0x30 && c <= 0x39) || c === 0x2e || c === 0x2d || c === 0x2b || (c | 0x20) === 0x65;
}

/** Whether a number is an integer that a double may not represent exactly. */
function isLongInteger(text: string, start: number, end: number): boolean {
  const token = text.slice(start, end);
  // An integer in the position of a key is a syntax error, which a string would hide.
  return /^-?[1-9][0-9]*$/.test(token) && !Number.isSafeInteger(Number(token)) && !isKey(text, end);
}

const COLON = /[ \t\r\n]{0,100}:/y;

/** Whether a colon follows. */
function isKey(text: string, end: number): boolean {
  COLON.lastIndex = end;
  return COLON.test(text);
}

/**
 * Replaces long integers by marked strings, which {@link adopt} turns into bigints: a reviver would be 8 times slower.
 */
function markIntegers(text: string, integers: readonly number[], mark: string): string {
  const parts: string[] = [];
  let from = 0;
  for (let i = 0; i < integers.length; i += 2) {
    const start = integers[i] ?? 0;
    const end = integers[i + 1] ?? 0;
    parts.push(text.slice(from, start), '"', mark, text.slice(start, end), '"');
    from = end;
  }
  parts.push(text.slice(from));
  return parts.join("");
}

interface Adoption {
  keys: number;
  bad: boolean;
  checkStrings: boolean;
  mark: string;
}

function adopt(value: JsonValue, state: Adoption): void {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const child = value[i] as JsonValue;
      if (typeof child === "object") {
        if (child !== null) adopt(child, state);
      } else {
        const other = leaf(child, state);
        if (other !== child) value[i] = other;
      }
    }
  } else if (typeof value === "object" && value !== null) {
    Object.setPrototypeOf(value, null);
    for (const key in value) {
      state.keys++;
      const child = value[key] as JsonValue;
      if (typeof child === "object") {
        if (child !== null) adopt(child, state);
      } else {
        const other = leaf(child, state);
        if (other !== child) value[key] = other;
      }
      if (state.checkStrings && !key.isWellFormed()) state.bad = true;
    }
  }
}

function leaf(value: boolean | number | bigint | string, state: Adoption): boolean | number | bigint | string {
  if (typeof value === "string") {
    if (state.mark !== "" && value.startsWith(state.mark)) return BigInt(value.slice(state.mark.length));
    if (state.checkStrings && !value.isWellFormed()) state.bad = true;
  } else if (value === Infinity || value === -Infinity) state.bad = true;
  return value;
}

function failure(text: string, source: string | undefined, cause: unknown): DocumentError {
  const findings = inspectJson(text);
  const issues = findings.map(
    ({ path, offset, message }, index): Issue =>
      // A position costs a walk over the text. Issues above the bound are only counted.
      index < MAX_ISSUES ? { path: formatPath(path), message, ...positionAt(text, offset) } : UNNAMED_ISSUE,
  );
  const code = findings.find((finding) => finding.code === "Syntax")?.code ?? findings[0]?.code ?? "Syntax";
  if (issues.length === 0) issues.push({ path: "", message: "is not JSON" });
  return new DocumentError(code, issues, source, cause === undefined ? undefined : { cause });
}
