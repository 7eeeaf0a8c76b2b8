import type { JsonPath } from "./json-value.ts";
import { PathLocator } from "./path-locator.ts";

/**
 * A slow, exact reading of a JSON text, used only when something is wrong or a position is asked for: `JSON.parse`
 * says neither where a key is, nor that it occurs twice, nor (always) where the syntax breaks.
 */
export interface JsonFinding {
  code: "Syntax" | "DuplicateKey";
  path: JsonPath;
  offset: number;
  message: string;
}

/** Every duplicate key, and the first syntax error, in the order of the text. The caller has bounded the depth. */
export function inspectJson(text: string): JsonFinding[] {
  const findings: JsonFinding[] = [];
  readJson(text, {
    duplicate: (path, offset) => {
      findings.push({ code: "DuplicateKey", path: [...path], offset, message: "occurs twice in one object" });
    },
    syntax: (path, offset, message) => {
      findings.push({ code: "Syntax", path: [...path], offset, message });
    },
  });
  return findings;
}

/** The offset of the value at each path (of its key, if it is an object's field), or of its nearest ancestor. */
export function locateJson(text: string, wanted: readonly JsonPath[]): number[] {
  const locator = new PathLocator(wanted);
  readJson(text, { value: (path, offset) => locator.visit(path, offset) });
  return locator.offsets();
}

interface Visitor {
  value?: (path: JsonPath, offset: number) => void;
  duplicate?: (path: JsonPath, offset: number) => void;
  syntax?: (path: JsonPath, offset: number, message: string) => void;
}

const SYNTAX_ERROR = Symbol("syntax error");
// Sticky, so that a match costs its own length only.
const SPACE = /[ \t\r\n]*/y;
// Runs of ordinary characters with an escape between any two: there is one way to read a text, so that a string without an
// end costs its length. With `(?:[...]+|...)*` it would cost 2 to the power of its length.
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const SCALAR = /(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![\w.+-])/y;
const WORD = /[^\s,:[\]{}"]+/y;

function readJson(text: string, visitor: Visitor): void {
  const path: (string | number)[] = [];
  let at = 0;

  function take(pattern: RegExp): string | undefined {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  }
  function fail(expected: string): never {
    const word = take(WORD);
    const found = at >= text.length && word === undefined ? "the end of the text" : JSON.stringify(word ?? text[at]);
    const start = word === undefined ? at : at - word.length;
    visitor.syntax?.(path, start, `expected ${expected}, found ${found}`);
    throw SYNTAX_ERROR;
  }
  function next(character: string): boolean {
    take(SPACE);
    if (text[at] !== character) return false;
    at++;
    return true;
  }
  function value(keyOffset: number | undefined): void {
    take(SPACE);
    visitor.value?.(path, keyOffset ?? at);
    if (next("{")) object();
    else if (next("[")) array();
    else if (text[at] === '"') {
      if (take(STRING) === undefined) fail("a string that ends on its line, with valid escapes");
    } else if (take(SCALAR) === undefined) fail("a JSON value");
  }
  function object(): void {
    const keys = new Set<string>();
    if (next("}")) return;
    do {
      take(SPACE);
      const offset = at;
      const raw = take(STRING);
      if (raw === undefined) fail("a key in double quotes");
      const key = JSON.parse(raw) as string;
      path.push(key);
      if (keys.has(key)) visitor.duplicate?.(path, offset);
      keys.add(key);
      if (!next(":")) fail('":"');
      value(offset);
      path.pop();
    } while (next(","));
    if (!next("}")) fail('"," or "}"');
  }
  function array(): void {
    if (next("]")) return;
    let index = 0;
    do {
      path.push(index++);
      value(undefined);
      path.pop();
    } while (next(","));
    if (!next("]")) fail('"," or "]"');
  }

  try {
    value(undefined);
    take(SPACE);
    if (at < text.length) fail("one JSON value and nothing after it");
  } catch (error) {
    if (error !== SYNTAX_ERROR) throw error;
  }
}
