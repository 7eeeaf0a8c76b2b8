import type { JsonPath } from "../value/json-value.ts";
import { MAX_ISSUES } from "./limits.ts";
import { PathLocator } from "./path-locator.ts";

/**
 * A problem that `JSON.parse` does not report exactly: it reports no duplicate keys, and often no position. This exact
 * and slow reader runs only after an error, or to find positions.
 */
export interface JsonFinding {
  code: "Syntax" | "DuplicateKey";
  path: JsonPath;
  offset: number;
  message: string;
}

/**
 * Finds every duplicate key and the first syntax error, in the order of the text. The caller must have bounded the
 * depth.
 */
export function inspectJson(text: string): JsonFinding[] {
  const findings: JsonFinding[] = [];
  const reader = new JsonReader(text, {
    duplicate: (path, offset) => {
      // Beyond the bound, findings are only counted.
      const shown = findings.length < MAX_ISSUES ? [...path] : [];
      findings.push({ code: "DuplicateKey", path: shown, offset, message: "occurs twice in one object" });
    },
    syntax: (path, offset, message) => {
      findings.push({ code: "Syntax", path: [...path], offset, message });
    },
  });
  reader.read();
  return findings;
}

/** The offset of the value at each path (of its key, for a field of an object), or of its nearest ancestor. */
export function locateJson(text: string, wanted: readonly JsonPath[]): number[] {
  const locator = new PathLocator(wanted);
  new JsonReader(text, { value: (path, offset) => locator.visit(path, offset) }).read();
  return locator.offsets();
}

interface Visitor {
  value?: (path: JsonPath, offset: number) => void;
  duplicate?: (path: JsonPath, offset: number) => void;
  syntax?: (path: JsonPath, offset: number, message: string) => void;
}

// Sticky, so that a match costs its own length only.
const SPACE = /[ \t\r\n]*/y;
// Runs of ordinary characters, each followed by one escape. The pattern is unambiguous, so an unterminated string takes
// linear time; `(?:[...]+|...)*` would take exponential time.
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const SCALAR = /(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![\w.+-])/y;
const WORD = /[^\s,:[\]{}"]+/y;

/** Reads one JSON value. A syntax error ends it: each method returns false after one. */
class JsonReader {
  readonly #text: string;
  readonly #visitor: Visitor;
  readonly #path: (string | number)[] = [];
  #at = 0;

  constructor(text: string, visitor: Visitor) {
    this.#text = text;
    this.#visitor = visitor;
  }

  read(): void {
    if (!this.#value(undefined)) return;
    this.#take(SPACE);
    if (this.#at < this.#text.length) this.#fail("one JSON value and nothing after it");
  }

  #value(keyOffset: number | undefined): boolean {
    this.#take(SPACE);
    this.#visitor.value?.(this.#path, keyOffset ?? this.#at);
    if (this.#next("{")) return this.#object();
    if (this.#next("[")) return this.#array();
    if (this.#text[this.#at] === '"') {
      return this.#take(STRING) !== undefined || this.#fail("a string that ends on its line, with valid escapes");
    }
    return this.#take(SCALAR) !== undefined || this.#fail("a JSON value");
  }

  #object(): boolean {
    const keys = new Set<string>();
    if (this.#next("}")) return true;
    do {
      this.#take(SPACE);
      const offset = this.#at;
      const raw = this.#take(STRING);
      if (raw === undefined) return this.#fail("a key in double quotes");
      const key = JSON.parse(raw) as string;
      this.#path.push(key);
      if (keys.has(key)) this.#visitor.duplicate?.(this.#path, offset);
      keys.add(key);
      if (!this.#next(":")) return this.#fail('":"');
      if (!this.#value(offset)) return false;
      this.#path.pop();
    } while (this.#next(","));
    return this.#next("}") || this.#fail('"," or "}"');
  }

  #array(): boolean {
    if (this.#next("]")) return true;
    let index = 0;
    do {
      this.#path.push(index++);
      if (!this.#value(undefined)) return false;
      this.#path.pop();
    } while (this.#next(","));
    return this.#next("]") || this.#fail('"," or "]"');
  }

  /** Consumes what a pattern matches here. */
  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  /** Consumes white space, and the character if it follows. */
  #next(character: string): boolean {
    this.#take(SPACE);
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #fail(expected: string): false {
    const start = this.#at;
    const found = this.#take(WORD) ?? this.#text[start];
    const shown = found === undefined ? "the end of the text" : JSON.stringify(found);
    this.#visitor.syntax?.(this.#path, start, `expected ${expected}, found ${shown}`);
    return false;
  }
}
