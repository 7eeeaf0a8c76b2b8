import type { DocumentErrorCode } from "../errors.ts";
import { formatPath, isObject, type JsonObject, type JsonPath, type JsonValue } from "../json-value.ts";
import { MAX_ISSUES, type ResolvedLimits } from "../limits.ts";
import { Char, Cursor, isBlank, isFlowIndicator, YamlFailure } from "./cursor.ts";
import { resolvePlain } from "./plain-scalar.ts";
import { readBlockScalar, readPlainLine, readPlainRest, readQuoted, startsPlain } from "./read-scalar.ts";

/** A problem at an offset of the text. */
export interface YamlIssue {
  code: DocumentErrorCode;
  path: string;
  message: string;
  offset: number;
}

/** Told of every key and list item: the path to it, and where it begins. */
export type Visitor = (path: JsonPath, offset: number) => void;

/** What may stand before a node. */
interface Properties {
  anchor?: string;
  tag?: string;
  offset: number;
}

/** An anchor's value; undefined while its node is being read. */
interface Anchored {
  value: JsonValue | undefined;
  /** The text, if it is a scalar: what it means as a key. */
  text: string | undefined;
}

const YAML_TAG = "tag:yaml.org,2002:";
const MERGE = "<<";
const NOT_A_STRING = "has a key that is not a string";
const ALIAS_WITH_PROPERTIES = "an alias cannot have a tag or an anchor";
/** A path this long is enough to find what nests without end. */
const MAX_PATH = 10;

/**
 * Reads a stream of YAML documents straight into JSON values (https://yaml.org/spec/1.2.2/, scalars as Kubernetes resolves
 * them). One pass, no syntax tree, recursion bounded by `maxDepth`; no part of the text is read twice.
 */
export class YamlReader {
  readonly issues: YamlIssue[] = [];
  readonly #cursor: Cursor;
  readonly #limits: ResolvedLimits;
  readonly #visit: Visitor | undefined;
  readonly #path: (string | number)[] = [];
  #anchors = new Map<string, Anchored>();
  #tagHandles = new Map<string, string>();
  #depth = 0;
  #aliases = 0;
  #aliasValues = 0;
  /** The text of the scalar that was read last, undefined after a collection: what it means as a key. */
  #scalarText: string | undefined;

  constructor(text: string, limits: ResolvedLimits, visit?: Visitor) {
    this.#cursor = new Cursor(text);
    this.#limits = limits;
    this.#visit = visit;
  }

  /** The next document, or undefined at the end. @throws {YamlFailure} */
  next(): { value: JsonValue } | undefined {
    const cursor: Cursor = this.#cursor;
    this.#anchors = new Map();
    this.#tagHandles = new Map();
    let directives = false;
    for (;;) {
      cursor.skipBlank();
      if (cursor.peek() === Char.Percent && cursor.pos === cursor.lineStart) {
        this.#directive();
        directives = true;
      } else if (cursor.atMarker() && cursor.peek() === Char.Dot) this.#skipEndMarker();
      else break;
    }
    const explicit = cursor.atMarker();
    if (!explicit) {
      if (directives) cursor.fail('expected "---" after directives');
      if (cursor.pos >= cursor.text.length) return undefined;
    } else cursor.pos += 3;
    const value = this.#node(-1, !explicit, false);
    cursor.skipBlank();
    if (cursor.column() !== -1) cursor.fail(`unexpected ${cursor.found()} after the end of the value`);
    if (cursor.atMarker() && cursor.peek() === Char.Dot) this.#skipEndMarker();
    return { value };
  }

  #skipEndMarker(): void {
    const cursor: Cursor = this.#cursor;
    cursor.pos += 3;
    cursor.skipBlank();
    if (cursor.pos < cursor.text.length && cursor.pos !== cursor.lineStart + this.#indentWidth()) {
      cursor.fail(`unexpected ${cursor.found()} after "..."`);
    }
  }

  #indentWidth(): number {
    const { text, lineStart, pos } = this.#cursor;
    return /^[ \t]*/.exec(text.slice(lineStart, pos))?.[0].length ?? 0;
  }

  #directive(): void {
    const cursor: Cursor = this.#cursor;
    const end = cursor.text.indexOf("\n", cursor.pos);
    const line = cursor.text.slice(cursor.pos, end === -1 ? undefined : end).replace(/[ \t]#.*$/, "");
    const [name, first, second, ...more] = line.trim().split(/[ \t]+/);
    if (name === "%YAML") {
      if (!/^1\.[0-9]+$/.test(first ?? "") || second !== undefined) cursor.fail(`${line} is not a YAML version that can be read`);
    } else if (name === "%TAG") {
      if (first === undefined || second === undefined || more.length > 0) cursor.fail("%TAG needs a handle and a prefix");
      this.#tagHandles.set(first, second);
    }
    cursor.pos += end === -1 ? cursor.text.length - cursor.pos : end - cursor.pos;
  }

  /**
   * Reads a node of a block: all that is indented more than `parent`.
   *
   * @param compact whether a block collection may begin on this line (after `- `, not after `key: `)
   * @param sequence whether a block sequence may be indented as little as `parent` itself (the value of a key)
   */
  #node(parent: number, compact: boolean, sequence: boolean): JsonValue {
    const cursor: Cursor = this.#cursor;
    let outer: Properties | undefined;
    let inline: Properties | undefined;
    let block = compact;
    let start = 0;
    let column = 0;
    for (;;) {
      const fresh = cursor.skipBlank();
      if (fresh) block = true;
      column = cursor.column();
      if (column === -1 || (fresh && column <= parent && !(sequence && column === parent && cursor.atIndicator(Char.Minus)))) {
        return this.#empty(outer);
      }
      start = cursor.pos;
      inline = this.#properties();
      if (inline === undefined) break;
      const { pos, lineStart } = cursor;
      if (!cursor.skipBlank() && cursor.column() !== -1) break;
      // Properties on a line of their own belong to the node that follows.
      cursor.pos = pos;
      cursor.lineStart = lineStart;
      outer = this.#merge(outer, inline);
      inline = undefined;
      if (cursor.column() === -1) return this.#empty(outer);
    }
    this.#visit?.(this.#path, start);
    if (block && inline === undefined) {
      if (cursor.atIndicator(Char.Minus)) return this.#collection(outer, "seq", () => this.#blockSequence(column));
      if (cursor.atIndicator(Char.Question) || cursor.atIndicator(Char.Colon)) {
        return this.#collection(outer, "map", () => this.#blockMapping(column, undefined));
      }
    }
    const c = cursor.peek();
    if (c === Char.Pipe || c === Char.Greater) {
      return this.#scalar(readBlockScalar(cursor, parent), false, this.#merge(outer, inline));
    }
    return this.#flowOrMapping(parent, block, column, start, outer, inline);
  }

  /** A flow node, or the block mapping whose first key it is. */
  #flowOrMapping(
    parent: number,
    block: boolean,
    column: number,
    start: number,
    outer: Properties | undefined,
    inline: Properties | undefined,
  ): JsonValue {
    const cursor: Cursor = this.#cursor;
    const { lineStart } = cursor;
    const c = cursor.peek();
    if (c !== Char.DoubleQuote && c !== Char.SingleQuote && startsPlain(cursor, false)) {
      const text = readPlainLine(cursor, false);
      if (this.#atKeyEnd()) {
        if (block) return this.#mappingFrom(column, { text, plain: true, start, properties: inline }, outer);
        cursor.fail("a mapping cannot begin on the line of its key; quote the text, or put it on its own line");
      }
      const whole = readPlainRest(cursor, text, parent, false);
      return this.#scalar(whole, true, this.#merge(outer, inline));
    }
    if (c === Char.DoubleQuote || c === Char.SingleQuote) {
      const text = readQuoted(cursor);
      if (cursor.lineStart === lineStart && this.#atKeyEnd()) {
        if (block) return this.#mappingFrom(column, { text, plain: false, start, properties: inline }, outer);
        cursor.fail("a mapping cannot begin on the line of its key");
      }
      return this.#scalar(text, false, this.#merge(outer, inline));
    }
    if (c === Char.Asterisk) {
      const value = this.#alias(inline);
      const text = this.#scalarText;
      if (this.#atKeyEnd()) {
        if (!block) cursor.fail("a mapping cannot begin on the line of its key");
        if (text === undefined) cursor.fail(NOT_A_STRING, start, "Invalid");
        return this.#mappingFrom(column, { text, plain: false, start, properties: undefined }, outer);
      }
      if (outer !== undefined) cursor.fail(ALIAS_WITH_PROPERTIES, outer.offset);
      return value;
    }
    const value = this.#flow(this.#merge(outer, inline));
    if (cursor.lineStart === lineStart && this.#atKeyEnd()) cursor.fail(NOT_A_STRING, start, "Invalid");
    return value;
  }

  /** Whether a `:` that ends a key follows on this line. Leaves the cursor on it. */
  #atKeyEnd(): boolean {
    const cursor: Cursor = this.#cursor;
    const { pos } = cursor;
    cursor.skipSpace();
    if (cursor.atIndicator(Char.Colon)) return true;
    cursor.pos = pos;
    return false;
  }

  #mappingFrom(column: number, first: Key, properties: Properties | undefined): JsonValue {
    return this.#collection(properties, "map", () => this.#blockMapping(column, first));
  }

  #blockSequence(column: number): JsonValue[] {
    const cursor: Cursor = this.#cursor;
    const list: JsonValue[] = [];
    for (;;) {
      if (cursor.tab) cursor.fail("a tab in the indentation; use spaces");
      this.#path.push(list.length);
      cursor.pos++;
      list.push(this.#node(column, true, false));
      this.#path.pop();
      if (!this.#nextEntry(column) || !cursor.atIndicator(Char.Minus)) return list;
    }
  }

  #blockMapping(column: number, first: Key | undefined): JsonObject {
    const cursor: Cursor = this.#cursor;
    const mapping = new Mapping();
    let key = first;
    for (;;) {
      if (cursor.tab) cursor.fail("a tab in the indentation; use spaces", key?.start);
      if (key === undefined && cursor.atIndicator(Char.Question)) this.#explicitEntry(mapping, column);
      else {
        const read: Key = key ?? this.#key();
        cursor.pos++;
        this.#entry(mapping, read, () => this.#node(column, false, true));
      }
      key = undefined;
      if (!this.#nextEntry(column)) break;
    }
    return this.#finishMapping(mapping);
  }

  /** `? key` on a line of its own, and `: value` on the next. */
  #explicitEntry(mapping: Mapping, column: number): void {
    const cursor: Cursor = this.#cursor;
    const start = cursor.pos++;
    this.#node(column, true, true);
    const text = this.#scalarText;
    if (text === undefined) cursor.fail(NOT_A_STRING, start, "Invalid");
    const value = (): JsonValue => {
      cursor.skipBlank();
      if (cursor.column() !== column || !cursor.atIndicator(Char.Colon)) return null;
      cursor.pos++;
      return this.#node(column, true, true);
    };
    this.#entry(mapping, { text, plain: false, start, properties: undefined }, value);
  }

  /** A key of a block mapping; the cursor ends on its `:`. */
  #key(): Key {
    const cursor: Cursor = this.#cursor;
    const start = cursor.pos;
    const { lineStart } = cursor;
    const properties = this.#properties();
    if (properties !== undefined) cursor.skipSpace();
    const c = cursor.peek();
    let text: string | undefined;
    let plain = false;
    if (c === Char.DoubleQuote || c === Char.SingleQuote) text = readQuoted(cursor);
    else if (startsPlain(cursor, false)) {
      text = readPlainLine(cursor, false);
      plain = true;
    } else if (c === Char.Asterisk || c === Char.OpenBracket || c === Char.OpenBrace) {
      this.#flow(properties);
      text = this.#scalarText;
      if (text === undefined && this.#atKeyEnd()) cursor.fail(NOT_A_STRING, start, "Invalid");
    } else if (cursor.atIndicator(Char.Colon)) cursor.fail('has a ":" without a key before it', start);
    if (text === undefined) cursor.fail(`expected a key, found ${cursor.found()}`);
    if (cursor.lineStart !== lineStart || !this.#atKeyEnd()) {
      cursor.fail(`expected ":" after ${JSON.stringify(text.slice(0, 60))}`, cursor.pos);
    }
    return { text, plain, start, properties };
  }

  #entry(mapping: Mapping, key: Key, read: () => JsonValue): void {
    const { text, plain, start, properties } = key;
    const path = this.#path;
    if (properties?.anchor !== undefined) this.#anchors.set(properties.anchor, { value: text, text });
    if (plain && resolvePlain(text) === null) this.#issue("Invalid", start, "has a key that is null; quote it if it is text");
    if (plain && text === MERGE) {
      mapping.merges.push({ value: read(), offset: start });
      return;
    }
    path.push(text);
    this.#visit?.(path, start);
    if (text in mapping.object) this.#issue("DuplicateKey", start, "occurs twice in one mapping");
    mapping.object[text] = read();
    path.pop();
  }

  /** `<<: *base` and `<<: [*a, *b]`: their fields where there are none of that name, the first base first. */
  #finishMapping({ object, merges }: Mapping): JsonObject {
    for (const { value, offset } of merges) {
      for (const base of Array.isArray(value) ? value : [value]) {
        if (!isObject(base)) {
          this.#issue("Invalid", offset, "the merge key << needs a mapping or a list of mappings");
          continue;
        }
        for (const field in base) if (!(field in object)) object[field] = base[field] as JsonValue;
      }
    }
    return object;
  }

  /** Goes to the next content; whether it is an entry of the collection at `column`. */
  #nextEntry(column: number): boolean {
    const cursor: Cursor = this.#cursor;
    const fresh = cursor.skipBlank();
    const next = cursor.column();
    if (next < column && (fresh || next === -1)) return false;
    if (!fresh) cursor.fail(`unexpected ${cursor.found()} after a value`);
    if (next > column) cursor.fail("is indented more than its neighbours above");
    return true;
  }

  /** Reads a flow node: an alias, a quoted or plain scalar, `[...]` or `{...}`. */
  #flow(given?: Properties): JsonValue {
    const cursor: Cursor = this.#cursor;
    let properties = given;
    if (properties === undefined) {
      properties = this.#properties();
      if (properties !== undefined) cursor.skipBlank();
    }
    const c = cursor.peek();
    if (c === Char.Asterisk) return this.#alias(properties);
    if (c === Char.OpenBracket) return this.#collection(properties, "seq", () => this.#flowSequence());
    if (c === Char.OpenBrace) return this.#collection(properties, "map", () => this.#flowMapping());
    if (c === Char.DoubleQuote || c === Char.SingleQuote) return this.#scalar(readQuoted(cursor), false, properties);
    if (startsPlain(cursor, true)) {
      const text = readPlainRest(cursor, readPlainLine(cursor, true), -1, true);
      return this.#scalar(text, true, properties);
    }
    if (properties !== undefined && (isFlowIndicator(c) || cursor.atIndicator(Char.Colon))) return this.#empty(properties);
    return cursor.fail(`expected a value, found ${cursor.found()}`);
  }

  #flowSequence(): JsonValue[] {
    const cursor: Cursor = this.#cursor;
    const opening = cursor.pos++;
    const list: JsonValue[] = [];
    for (;;) {
      this.#skipFlow(opening);
      if (cursor.peek() === Char.CloseBracket) break;
      this.#path.push(list.length);
      this.#visit?.(this.#path, cursor.pos);
      list.push(this.#flowItem(opening));
      this.#path.pop();
      this.#skipFlow(opening);
      if (cursor.peek() === Char.CloseBracket) break;
      if (cursor.peek() !== Char.Comma) cursor.fail(`expected "," or "]", found ${cursor.found()}`);
      cursor.pos++;
    }
    cursor.pos++;
    return list;
  }

  /** An item of `[...]`, which may be a single pair: `[a: b]` is `[{a: b}]`. */
  #flowItem(opening: number): JsonValue {
    const cursor: Cursor = this.#cursor;
    const start = cursor.pos;
    const { lineStart } = cursor;
    const explicit = cursor.atIndicator(Char.Question);
    if (explicit) {
      cursor.pos++;
      this.#skipFlow(opening);
    }
    const quoted = cursor.peek() === Char.DoubleQuote || cursor.peek() === Char.SingleQuote;
    const value = this.#flow();
    if (!explicit && cursor.lineStart !== lineStart) return value;
    const { pos } = cursor;
    cursor.skipSpace();
    if (!explicit && !this.#atFlowColon(quoted)) {
      cursor.pos = pos;
      return value;
    }
    const text = this.#scalarText;
    if (text === undefined) cursor.fail(NOT_A_STRING, start, "Invalid");
    const mapping = new Mapping();
    this.#entry(mapping, { text, plain: false, start, properties: undefined }, () => this.#flowValue(opening, quoted));
    this.#scalarText = undefined;
    return this.#finishMapping(mapping);
  }

  #flowMapping(): JsonObject {
    const cursor: Cursor = this.#cursor;
    const opening = cursor.pos++;
    const mapping = new Mapping();
    for (;;) {
      this.#skipFlow(opening);
      if (cursor.peek() === Char.CloseBrace) break;
      if (cursor.atIndicator(Char.Question)) {
        cursor.pos++;
        this.#skipFlow(opening);
      }
      const start = cursor.pos;
      const c = cursor.peek();
      const json = c === Char.DoubleQuote || c === Char.SingleQuote || c === Char.OpenBracket || c === Char.OpenBrace;
      const plain = startsPlain(cursor, true);
      this.#flow();
      const text = this.#scalarText;
      if (text === undefined) cursor.fail(NOT_A_STRING, start, "Invalid");
      this.#entry(mapping, { text, plain, start, properties: undefined }, () => this.#flowValue(opening, json));
      this.#skipFlow(opening);
      if (cursor.peek() === Char.CloseBrace) break;
      if (cursor.peek() !== Char.Comma) cursor.fail(`expected "," or "}", found ${cursor.found()}`);
      cursor.pos++;
    }
    cursor.pos++;
    return this.#finishMapping(mapping);
  }

  /** The value after a key in a flow collection; null if there is none. */
  #flowValue(opening: number, json: boolean): JsonValue {
    const cursor: Cursor = this.#cursor;
    this.#skipFlow(opening);
    if (!this.#atFlowColon(json)) return null;
    cursor.pos++;
    this.#skipFlow(opening);
    const c = cursor.peek();
    if (c === Char.Comma || c === Char.CloseBrace || c === Char.CloseBracket) return null;
    return this.#flow();
  }

  /** A `:` that separates: after a quoted key it needs no blank behind it, as in JSON. */
  #atFlowColon(json: boolean): boolean {
    const cursor: Cursor = this.#cursor;
    if (cursor.peek() !== Char.Colon) return false;
    const next = cursor.peek(1);
    return json || isBlank(next) || isFlowIndicator(next);
  }

  #skipFlow(opening: number): void {
    const cursor: Cursor = this.#cursor;
    cursor.skipBlank();
    if (cursor.column() === -1) cursor.fail(`"${cursor.text[opening]}" is never closed`, opening);
  }

  /** Anchor and tag before a node, in either order, on this line. Leaves the cursor right behind them. */
  #properties(): Properties | undefined {
    const cursor: Cursor = this.#cursor;
    let properties: Properties | undefined;
    for (;;) {
      const c = cursor.peek();
      if (c !== Char.Ampersand && c !== Char.Exclamation) break;
      const start = cursor.pos;
      const word = this.#word();
      const read: Properties = { offset: start };
      if (c === Char.Ampersand) {
        if (word.length === 1) cursor.fail("an anchor needs a name", start);
        read.anchor = word.slice(1);
      } else read.tag = this.#tag(word, start);
      properties = this.#merge(properties, read);
      const { pos } = cursor;
      cursor.skipSpace();
      if (cursor.peek() !== Char.Ampersand && cursor.peek() !== Char.Exclamation) {
        cursor.pos = pos;
        break;
      }
    }
    return properties;
  }

  /** An anchor, alias or tag: up to a blank or, except in `!<...>`, a flow indicator. */
  #word(): string {
    const cursor: Cursor = this.#cursor;
    const start = cursor.pos;
    const verbatim = cursor.peek() === Char.Exclamation && cursor.peek(1) === Char.Less;
    for (let c = cursor.peek(); !isBlank(c) && (verbatim || !isFlowIndicator(c)); c = cursor.peek()) cursor.pos++;
    return cursor.text.slice(start, cursor.pos);
  }

  #tag(word: string, start: number): string {
    if (word.startsWith("!<")) {
      if (!word.endsWith(">") || word.length < 4) this.#cursor.fail(`${word} is not a tag`, start);
      return word.slice(2, -1);
    }
    const handle = /^!(?:[\w-]*!)?/.exec(word)?.[0] ?? "!";
    const prefix = this.#tagHandles.get(handle) ?? (handle === "!!" ? YAML_TAG : handle === "!" ? "!" : undefined);
    if (prefix === undefined) this.#cursor.fail(`the tag handle ${handle} is not declared`, start);
    return prefix + word.slice(handle.length);
  }

  #merge(first: Properties | undefined, second: Properties | undefined): Properties | undefined {
    if (first === undefined || second === undefined) return first ?? second;
    const twice = first.anchor !== undefined && second.anchor !== undefined ? "anchors" : "tags";
    if ((first.anchor !== undefined) === (second.anchor !== undefined) || (first.tag !== undefined) === (second.tag !== undefined)) {
      this.#cursor.fail(`has two ${twice}`, second.offset);
    }
    return { ...first, ...second, offset: first.offset };
  }

  #collection<T extends JsonValue[] | JsonObject>(properties: Properties | undefined, kind: "seq" | "map", read: () => T): T {
    if (properties?.tag !== undefined && properties.tag !== "!" && properties.tag !== YAML_TAG + kind) {
      this.#unsupported(properties);
    }
    const anchored: Anchored = { value: undefined, text: undefined };
    if (properties?.anchor !== undefined) this.#anchors.set(properties.anchor, anchored);
    if (++this.#depth > this.#limits.maxDepth) {
      this.#path.length = Math.min(this.#path.length, MAX_PATH);
      this.#cursor.fail(`is nested deeper than ${this.#limits.maxDepth}`, this.#cursor.pos, "TooDeep");
    }
    const value = read();
    this.#depth--;
    anchored.value = value;
    this.#scalarText = undefined;
    return value;
  }

  #empty(properties: Properties | undefined): JsonValue {
    return this.#scalar("", true, properties);
  }

  #scalar(text: string, plain: boolean, properties: Properties | undefined): JsonValue {
    const value = properties?.tag === undefined ? (plain ? resolvePlain(text) : text) : this.#tagged(text, properties);
    if (typeof value === "number" && !Number.isFinite(value)) {
      this.#issue("NotJson", this.#cursor.pos - text.length, `${text} is not a number that JSON can carry; quote it if it is text`);
    } else if (!plain && !text.isWellFormed()) {
      this.#issue("NotJson", this.#cursor.pos, "contains half of a surrogate pair, which UTF-8 cannot carry");
    }
    if (properties?.anchor !== undefined) this.#anchors.set(properties.anchor, { value, text });
    this.#scalarText = text;
    return value;
  }

  #tagged(text: string, properties: Properties): JsonValue {
    const value = resolvePlain(text);
    const number = typeof value === "number" || typeof value === "bigint";
    switch (properties.tag) {
      case "!":
      case `${YAML_TAG}str`:
        return text;
      case `${YAML_TAG}null`:
        if (value === null) return value;
        break;
      case `${YAML_TAG}bool`:
        if (typeof value === "boolean") return value;
        break;
      case `${YAML_TAG}int`:
        if (typeof value === "bigint" || (number && Number.isInteger(value))) return value;
        break;
      case `${YAML_TAG}float`:
        if (number) return Number(value);
        break;
    }
    this.#unsupported(properties);
    return null;
  }

  #unsupported({ tag, offset }: Properties): void {
    this.#issue("UnsupportedTag", offset, `the tag ${tag} does not fit here; JSON has only its own types`);
  }

  #alias(properties: Properties | undefined): JsonValue {
    const cursor: Cursor = this.#cursor;
    const start = cursor.pos;
    const name = this.#word().slice(1);
    if (properties !== undefined) cursor.fail(ALIAS_WITH_PROPERTIES, properties.offset);
    if (name === "") cursor.fail("an alias needs a name", start);
    if (++this.#aliases > this.#limits.maxAliases) {
      cursor.fail(`has more than ${this.#limits.maxAliases} aliases`, start, "TooManyAliases");
    }
    const anchored = this.#anchors.get(name);
    if (anchored === undefined) cursor.fail(`the alias *${name} has no anchor &${name} before it`, start);
    if (anchored.value === undefined) cursor.fail(`the alias *${name} stands inside its own anchor`, start);
    const copy = this.#copy(anchored.value, start);
    this.#scalarText = anchored.text;
    return copy;
  }

  /** Copies an anchor's value, so that no two places of the result share an object, within the bound of all copies. */
  #copy(value: JsonValue, start: number): JsonValue {
    if (++this.#aliasValues > this.#limits.maxAliasValues) {
      this.#cursor.fail(`has aliases that expand to more than ${this.#limits.maxAliasValues} values`, start, "TooManyAliases");
    }
    if (Array.isArray(value)) return value.map((item) => this.#copy(item, start));
    if (!isObject(value)) return value;
    const copy = newObject();
    for (const key in value) copy[key] = this.#copy(value[key] as JsonValue, start);
    return copy;
  }

  #issue(code: DocumentErrorCode, offset: number, message: string): void {
    const issue = { code, path: formatPath(this.#path), message, offset };
    this.issues.push(issue);
    if (this.issues.length > MAX_ISSUES) throw new YamlFailure(code, "and there are more problems than are listed", offset);
  }

  /** Where the reading stopped, as a path. */
  get path(): string {
    return formatPath(this.#path);
  }
}

interface Key {
  text: string;
  /** Not quoted: `~` is null then, and `<<` merges. */
  plain: boolean;
  start: number;
  properties: Properties | undefined;
}

class Mapping {
  readonly object: JsonObject = newObject();
  readonly merges: { value: JsonValue; offset: number }[] = [];
}

function newObject(): JsonObject {
  return Object.setPrototypeOf({}, null) as JsonObject;
}
