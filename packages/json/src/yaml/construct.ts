import {
  type AliasEvent,
  type DocumentEvent,
  EVENT_ID,
  type Event,
  getScalarValue,
  type MappingEvent,
  type PopEvent,
  SCALAR_STYLE,
  type ScalarEvent,
  type SequenceEvent,
} from "js-yaml";
import type { DocumentErrorCode } from "../text/document-error.ts";
import { MAX_ISSUES, type ResolvedLimits } from "../text/limits.ts";
import { formatPath, isObject, type JsonObject, type JsonPath, type JsonValue } from "../value/json-value.ts";
import { newObject } from "../value/new-object.ts";
import { resolvePlain } from "./plain-scalar.ts";

/** A problem at an offset of the text. */
export interface YamlIssue {
  code: DocumentErrorCode;
  path: string;
  message: string;
  offset: number;
}

/**
 * Called for every key, list item and value with its path and its offset; for an unquoted
 * scalar also with its text.
 */
export type Visitor = (path: JsonPath, offset: number, unquoted?: string) => void;

type NodeEvent = Exclude<Event, DocumentEvent | PopEvent>;

/** An anchored value (undefined while it is being built) and, if it is a scalar, its text. */
interface Anchored {
  value?: JsonValue;
  text?: string;
}

const YAML_TAG = "tag:yaml.org,2002:";
/** The length of the path in a message about a document that is too deep. */
const MAX_PATH = 10;

/**
 * Builds the value of every document from the library's events. The library's own constructor would share one object
 * between all aliases. It would also read the key `on` as `true`, round long integers, and stop at the first problem.
 * The parser has bounded the recursion. The values are usable only if there are no issues.
 */
export function construct(
  text: string,
  events: readonly Event[],
  limits: ResolvedLimits,
  visit?: Visitor,
): { values: JsonValue[]; issues: YamlIssue[]; starts: number[] } {
  const builder = new Builder(text, events, limits, visit);
  builder.build();
  return builder;
}

class Builder {
  readonly values: JsonValue[] = [];
  readonly issues: YamlIssue[] = [];
  /** The index of the first event of each document. */
  readonly starts: number[] = [];
  readonly #text: string;
  readonly #events: readonly Event[];
  readonly #limits: ResolvedLimits;
  readonly #visit: Visitor | undefined;
  readonly #path: (string | number)[] = [];
  readonly #anchors = new Map<string, Anchored>();
  readonly #tagHandles = new Map<string, string>();
  /** Index of the next event. */
  #at = 0;
  /** The offset of the last node that is not empty. */
  #offset = 0;
  #depth = 0;
  #aliases = 0;
  #aliasValues = 0;
  /** Set by an issue after which the rest is not worth reading. */
  #stopped = false;

  constructor(text: string, events: readonly Event[], limits: ResolvedLimits, visit: Visitor | undefined) {
    this.#text = text;
    this.#events = events;
    this.#limits = limits;
    this.#visit = visit;
  }

  build(): void {
    while (this.#at < this.#events.length && !this.#stopped) {
      this.starts.push(this.#at);
      this.#anchors.clear();
      this.#tagHandles.clear();
      for (const directive of (this.#events[this.#at++] as DocumentEvent).directives) {
        if (directive.kind === "tag") this.#tagHandles.set(directive.handle, directive.prefix);
      }
      this.values.push(this.#node(this.#next()));
      this.#at++;
    }
  }

  #next(): NodeEvent {
    const event = this.#events[this.#at++] as NodeEvent;
    const start = startOf(event);
    if (start >= 0) this.#offset = start;
    return event;
  }

  /** Whether a collection ends here. Consumes its end. */
  #ends(): boolean {
    if (this.#stopped) return true;
    if (this.#events[this.#at]?.type !== EVENT_ID.POP) return false;
    this.#at++;
    return true;
  }

  #node(event: NodeEvent): JsonValue {
    if (this.#visit !== undefined && startOf(event) >= 0) {
      const unquoted = isPlain(event) ? getScalarValue(this.#text, event) : undefined;
      this.#visit(this.#path, this.#offset, unquoted);
    }
    if (event.type === EVENT_ID.SCALAR) return this.#scalar(event);
    if (event.type === EVENT_ID.ALIAS) return this.#copy(this.#alias(event)?.value ?? null);
    const isList = event.type === EVENT_ID.SEQUENCE;
    const tag = this.#tagOf(event);
    if (tag !== undefined && tag !== "!" && tag !== YAML_TAG + (isList ? "seq" : "map")) this.#unsupported(tag);
    const anchored = this.#anchor(event, {});
    if (++this.#depth > this.#limits.maxDepth) {
      this.#path.length = Math.min(this.#path.length, MAX_PATH);
      this.#stop("TooDeep", `is nested deeper than ${this.#limits.maxDepth}`);
    }
    const value = isList ? this.#list() : this.#mapping();
    anchored.value = value;
    this.#depth--;
    return value;
  }

  #list(): JsonValue[] {
    const items: JsonValue[] = [];
    while (!this.#ends()) {
      this.#path.push(items.length);
      items.push(this.#node(this.#next()));
      this.#path.pop();
    }
    return items;
  }

  #mapping(): JsonObject {
    const object = newObject();
    const bases: MergedBase[] = [];
    while (!this.#ends()) {
      const event = this.#next();
      const start = this.#offset;
      const name = this.#key(event);
      if (this.#stopped) break;
      if (name === undefined) this.#node(this.#next());
      else if (name === "<<" && isPlain(event)) {
        const base = this.#node(this.#next());
        for (const item of Array.isArray(base) ? base : [base]) bases.push({ base: item, start });
      } else {
        this.#path.push(name);
        this.#visit?.(this.#path, start);
        if (name in object) this.#issue("DuplicateKey", "occurs twice in one mapping");
        object[name] = this.#node(this.#next());
        this.#path.pop();
      }
    }
    if (bases.length > 0) this.#merge(object, bases);
    return object;
  }

  /** `<<: *base` and `<<: [*a, *b]` add fields that the object does not have. The first base takes precedence. */
  #merge(object: JsonObject, bases: readonly MergedBase[]): void {
    for (const { base, start } of bases) {
      if (!isObject(base)) this.#issue("Invalid", "the merge key << needs a mapping or a list of mappings", start);
      else for (const field in base) if (!(field in object)) object[field] = base[field] as JsonValue;
    }
  }

  /** A key as it is written: `8080:` and `on:` are text. Undefined, with an issue, if it is not text. */
  #key(event: NodeEvent): string | undefined {
    let name: string | undefined;
    if (isPlain(event)) {
      name = this.#read(event);
      this.#anchor(event, { value: name, text: name });
      if (resolvePlain(name) !== null) return name;
      this.#issue("Invalid", "has a key that is null; quote it if it is text");
      return undefined;
    }
    if (event.type === EVENT_ID.SCALAR) name = this.#read(event);
    if (event.type === EVENT_ID.ALIAS) name = this.#alias(event)?.text;
    else this.#node(event);
    if (name === undefined) this.#issue("Invalid", "has a key that is not a string");
    return name;
  }

  #scalar(event: ScalarEvent): JsonValue {
    const content = this.#read(event);
    const tag = this.#tagOf(event);
    let value: JsonValue = isPlain(event) ? resolvePlain(content) : content;
    if (tag !== undefined) value = this.#tagged(content, tag);
    if (Number.isNaN(value))
      this.#issue("NotJson", `${content} is not a number that JSON can represent; quote it if it is text`);
    if (!content.isWellFormed())
      this.#issue("NotJson", "contains half of a surrogate pair, which UTF-8 cannot represent");
    this.#anchor(event, { value, text: content });
    return value;
  }

  /** A scalar's text. The library adds a line end to a block even if the text ends without one. */
  #read(event: ScalarEvent): string {
    const content = getScalarValue(this.#text, event);
    const block = event.style === SCALAR_STYLE.LITERAL_BLOCK || event.style === SCALAR_STYLE.FOLDED_BLOCK;
    return block && event.valueEnd === this.#text.length && !this.#text.endsWith("\n")
      ? content.replace(/\n$/, "")
      : content;
  }

  #tagged(content: string, tag: string): JsonValue {
    if (tag === "!" || tag === `${YAML_TAG}str`) return content;
    const value = resolvePlain(content);
    const number = typeof value === "number" || typeof value === "bigint";
    if (number && tag === `${YAML_TAG}float`) return Number(value);
    if (number && tag === `${YAML_TAG}int` && (typeof value === "bigint" || Number.isInteger(value))) return value;
    if (typeof value === "boolean" && tag === `${YAML_TAG}bool`) return value;
    if (value !== null || tag !== `${YAML_TAG}null`) this.#unsupported(tag);
    return null;
  }

  /** A node's tag with its handle expanded. The parser has checked its form. */
  #tagOf({ tagStart, tagEnd }: ScalarEvent | SequenceEvent | MappingEvent): string | undefined {
    if (tagStart < 0) return undefined;
    const written = this.#text.slice(tagStart, tagEnd);
    if (written.startsWith("!<")) return written.slice(2, -1);
    const handle = /^!(?:[\w-]*!)?/.exec(written)?.[0] ?? "";
    return (this.#tagHandles.get(handle) ?? (handle === "!!" ? YAML_TAG : handle)) + written.slice(handle.length);
  }

  #anchor({ anchorStart, anchorEnd }: NodeEvent, anchored: Anchored): Anchored {
    if (anchorStart >= 0) this.#anchors.set(this.#text.slice(anchorStart, anchorEnd), anchored);
    return anchored;
  }

  #alias({ anchorStart, anchorEnd }: AliasEvent): Anchored | undefined {
    const { maxAliases } = this.#limits;
    if (++this.#aliases > maxAliases) return this.#stop("TooManyAliases", `has more than ${maxAliases} aliases`);
    const name = this.#text.slice(anchorStart, anchorEnd);
    const anchored = this.#anchors.get(name);
    if (anchored === undefined) return this.#stop("Syntax", `the alias *${name} has no anchor &${name} before it`);
    if (anchored.value === undefined) return this.#stop("Syntax", `the alias *${name} is inside its own anchor`);
    return anchored;
  }

  /** Copies an anchored value, so that no two parts of the result share an object. The copies have a common bound. */
  #copy(value: JsonValue): JsonValue {
    const { maxAliasValues } = this.#limits;
    if (++this.#aliasValues > maxAliasValues) {
      this.#stop("TooManyAliases", `has aliases that expand to more than ${maxAliasValues} values`);
    }
    if (this.#stopped) return null;
    if (Array.isArray(value)) return value.map((item) => this.#copy(item));
    if (!isObject(value)) return value;
    const object = newObject();
    for (const name in value) object[name] = this.#copy(value[name] as JsonValue);
    return object;
  }

  #unsupported(tag: string): void {
    this.#issue("UnsupportedTag", `the tag ${tag} does not fit here; JSON has only its own types`);
  }

  #issue(code: DocumentErrorCode, message: string, start: number = this.#offset): void {
    if (this.#stopped) return;
    this.issues.push({ code, path: formatPath(this.#path), message, offset: start });
    if (this.issues.length > MAX_ISSUES) this.#stopped = true;
  }

  #stop(code: DocumentErrorCode, message: string): undefined {
    this.#issue(code, message);
    this.#stopped = true;
  }
}

/** The value of a merge key. */
interface MergedBase {
  readonly base: JsonValue;
  readonly start: number;
}

/** The offset of a node with its anchor and tag; negative for a node without text, such as the value of `key:`. */
function startOf(event: NodeEvent): number {
  if (event.type === EVENT_ID.ALIAS) return event.anchorStart - 1;
  let start = event.type === EVENT_ID.SCALAR ? event.valueStart : event.start;
  // The library counts from after a quote, and from after the line of the `|` of a block scalar.
  if (event.type === EVENT_ID.SCALAR && event.style !== SCALAR_STYLE.PLAIN) start--;
  for (const property of [event.tagStart, event.anchorStart - 1]) {
    if (property >= 0 && (start < 0 || property < start)) start = property;
  }
  return start;
}

/** Whether a node is a scalar without quotes and tag. Only then `~` is null, and `<<` merges. */
function isPlain(event: NodeEvent): event is ScalarEvent & { style: typeof SCALAR_STYLE.PLAIN } {
  return event.type === EVENT_ID.SCALAR && event.style === SCALAR_STYLE.PLAIN && event.tagStart < 0;
}
