import type { AliasEvent, DocumentEvent, Event, MappingEvent, PopEvent, ScalarEvent, SequenceEvent } from "js-yaml";
import { EVENT_ID, getScalarValue, SCALAR_STYLE } from "js-yaml";
import type { DocumentErrorCode } from "../json/errors.ts";
import { formatPath, isObject, type JsonObject, type JsonPath, type JsonValue } from "../json/json-value.ts";
import { MAX_ISSUES, type ResolvedLimits } from "../json/limits.ts";
import { resolvePlain } from "./plain-scalar.ts";

/** A problem at an offset of the text. */
export interface YamlIssue {
  code: DocumentErrorCode;
  path: string;
  message: string;
  offset: number;
}

/** Told of every key and list item: its document's index, the path to it, and where it begins. */
export type Visitor = (document: number, path: JsonPath, offset: number) => void;

type NodeEvent = Exclude<Event, DocumentEvent | PopEvent>;

/** What an anchor stands for: a value (undefined while it is being built) and, if that is a scalar, its text. */
interface Anchored {
  value?: JsonValue;
  text?: string;
}

const YAML_TAG = "tag:yaml.org,2002:";
/** A path this long is enough to find what nests without end. */
const MAX_PATH = 10;
const STOP = Symbol("what follows is not worth reading");

/**
 * Builds the value of every document from the library's events. Its own constructor would share one object between all
 * aliases, read the key `on` as `true`, round long integers, and stop at the first problem. The parser has bounded the
 * recursion. The values are only as good as there are no issues.
 */
export function construct(
  text: string,
  events: readonly Event[],
  limits: ResolvedLimits,
  visit?: Visitor,
): { values: JsonValue[]; issues: YamlIssue[] } {
  const values: JsonValue[] = [];
  const issues: YamlIssue[] = [];
  const path: (string | number)[] = [];
  const anchors = new Map<string, Anchored>();
  const tagHandles = new Map<string, string>();
  /** Index of the next event. */
  let at = 0;
  /** Where the last node begins that is not empty. */
  let offset = 0;
  let depth = 0;
  let aliases = 0;
  let aliasValues = 0;
  try {
    while (at < events.length) {
      anchors.clear();
      tagHandles.clear();
      for (const directive of (events[at++] as DocumentEvent).directives) {
        if (directive.kind === "tag") tagHandles.set(directive.handle, directive.prefix);
      }
      values.push(node(next()));
      at++;
    }
  } catch (error) {
    if (error !== STOP) throw error;
  }
  return { values, issues };

  function next(): NodeEvent {
    const event = events[at++] as NodeEvent;
    const start = startOf(event);
    if (start >= 0) offset = start;
    return event;
  }

  /** Goes over the end of a collection, if it is here. */
  function ends(): boolean {
    if (events[at]?.type !== EVENT_ID.POP) return false;
    at++;
    return true;
  }

  function node(event: NodeEvent): JsonValue {
    if (visit !== undefined && startOf(event) >= 0) visit(values.length, path, offset);
    if (event.type === EVENT_ID.SCALAR) return scalar(event);
    if (event.type === EVENT_ID.ALIAS) return copy(alias(event).value ?? null);
    const kind = event.type === EVENT_ID.SEQUENCE ? "seq" : "map";
    const tag = tagOf(event);
    if (tag !== undefined && tag !== "!" && tag !== YAML_TAG + kind) unsupported(tag);
    const anchored = anchor(event, {});
    if (++depth > limits.maxDepth) {
      path.length = Math.min(path.length, MAX_PATH);
      stop("TooDeep", `is nested deeper than ${limits.maxDepth}`);
    }
    anchored.value = kind === "seq" ? list() : mapping();
    depth--;
    return anchored.value;
  }

  function list(): JsonValue[] {
    const items: JsonValue[] = [];
    while (!ends()) {
      path.push(items.length);
      items.push(node(next()));
      path.pop();
    }
    return items;
  }

  function mapping(): JsonObject {
    const object = newObject();
    const bases: { base: JsonValue; start: number }[] = [];
    while (!ends()) {
      const event = next();
      const start = offset;
      const name = key(event);
      if (name === undefined) node(next());
      else if (name === "<<" && isPlain(event)) {
        const base = node(next());
        for (const item of Array.isArray(base) ? base : [base]) bases.push({ base: item, start });
      } else {
        path.push(name);
        visit?.(values.length, path, start);
        if (name in object) issue("DuplicateKey", "occurs twice in one mapping");
        object[name] = node(next());
        path.pop();
      }
    }
    // `<<: *base` and `<<: [*a, *b]`: their fields where there are none of that name, the first base first.
    for (const { base, start } of bases) {
      if (!isObject(base)) issue("Invalid", "the merge key << needs a mapping or a list of mappings", start);
      else for (const field in base) if (!(field in object)) object[field] = base[field] as JsonValue;
    }
    return object;
  }

  /** A key as it is written: `8080:` and `on:` are text. Undefined, with an issue, if it is no text. */
  function key(event: NodeEvent): string | undefined {
    let name: string | undefined;
    if (isPlain(event)) {
      name = read(event);
      anchor(event, { value: name, text: name });
      if (resolvePlain(name) !== null) return name;
      issue("Invalid", "has a key that is null; quote it if it is text");
      return undefined;
    }
    if (event.type === EVENT_ID.SCALAR) name = read(event);
    if (event.type === EVENT_ID.ALIAS) name = alias(event).text;
    else node(event);
    if (name === undefined) issue("Invalid", "has a key that is not a string");
    return name;
  }

  function scalar(event: ScalarEvent): JsonValue {
    const content = read(event);
    const tag = tagOf(event);
    let value: JsonValue = isPlain(event) ? resolvePlain(content) : content;
    if (tag !== undefined) value = tagged(content, tag);
    if (Number.isNaN(value)) issue("NotJson", `${content} is not a number that JSON can carry; quote it if it is text`);
    if (!content.isWellFormed()) issue("NotJson", "contains half of a surrogate pair, which UTF-8 cannot carry");
    anchor(event, { value, text: content });
    return value;
  }

  /** A scalar's text. The library ends a block with a line end even where the text ends without one. */
  function read(event: ScalarEvent): string {
    const content = getScalarValue(text, event);
    const block = event.style === SCALAR_STYLE.LITERAL_BLOCK || event.style === SCALAR_STYLE.FOLDED_BLOCK;
    return block && event.valueEnd === text.length && !text.endsWith("\n") ? content.replace(/\n$/, "") : content;
  }

  function tagged(content: string, tag: string): JsonValue {
    if (tag === "!" || tag === `${YAML_TAG}str`) return content;
    const value = resolvePlain(content);
    const number = typeof value === "number" || typeof value === "bigint";
    if (number && tag === `${YAML_TAG}float`) return Number(value);
    if (number && tag === `${YAML_TAG}int` && (typeof value === "bigint" || Number.isInteger(value))) return value;
    if (typeof value === "boolean" && tag === `${YAML_TAG}bool`) return value;
    if (value !== null || tag !== `${YAML_TAG}null`) unsupported(tag);
    return null;
  }

  /** A node's tag with its handle replaced by what it stands for. The parser has checked its form. */
  function tagOf({ tagStart, tagEnd }: ScalarEvent | SequenceEvent | MappingEvent): string | undefined {
    if (tagStart < 0) return undefined;
    const written = text.slice(tagStart, tagEnd);
    if (written.startsWith("!<")) return written.slice(2, -1);
    const handle = /^!(?:[\w-]*!)?/.exec(written)?.[0] ?? "";
    return (tagHandles.get(handle) ?? (handle === "!!" ? YAML_TAG : handle)) + written.slice(handle.length);
  }

  function anchor({ anchorStart, anchorEnd }: NodeEvent, anchored: Anchored): Anchored {
    if (anchorStart >= 0) anchors.set(text.slice(anchorStart, anchorEnd), anchored);
    return anchored;
  }

  function alias({ anchorStart, anchorEnd }: AliasEvent): Anchored {
    if (++aliases > limits.maxAliases) stop("TooManyAliases", `has more than ${limits.maxAliases} aliases`);
    const name = text.slice(anchorStart, anchorEnd);
    const anchored = anchors.get(name);
    if (anchored === undefined) stop("Syntax", `the alias *${name} has no anchor &${name} before it`);
    if (anchored.value === undefined) stop("Syntax", `the alias *${name} stands inside its own anchor`);
    return anchored;
  }

  /** Copies an anchor's value, so that no two places of the result share an object, within the bound of all copies. */
  function copy(value: JsonValue): JsonValue {
    if (++aliasValues > limits.maxAliasValues) {
      stop("TooManyAliases", `has aliases that expand to more than ${limits.maxAliasValues} values`);
    }
    if (Array.isArray(value)) return value.map(copy);
    if (!isObject(value)) return value;
    const object = newObject();
    for (const name in value) object[name] = copy(value[name] as JsonValue);
    return object;
  }

  function unsupported(tag: string): void {
    issue("UnsupportedTag", `the tag ${tag} does not fit here; JSON has only its own types`);
  }

  function issue(code: DocumentErrorCode, message: string, start: number = offset): void {
    issues.push({ code, path: formatPath(path), message, offset: start });
    if (issues.length > MAX_ISSUES) throw STOP;
  }

  function stop(code: DocumentErrorCode, message: string): never {
    issue(code, message);
    throw STOP;
  }
}

/** Where a node begins, its anchor and tag included; negative for a node without any text: `key:` and nothing after it. */
function startOf(event: NodeEvent): number {
  if (event.type === EVENT_ID.ALIAS) return event.anchorStart - 1;
  let start = event.type === EVENT_ID.SCALAR ? event.valueStart : event.start;
  // The library counts from behind a quote; of a block scalar, from behind the line of its `|`.
  if (event.type === EVENT_ID.SCALAR && event.style !== SCALAR_STYLE.PLAIN) start--;
  for (const property of [event.tagStart, event.anchorStart - 1]) {
    if (property >= 0 && (start < 0 || property < start)) start = property;
  }
  return start;
}

/** Whether a node is a scalar without quotes and tag: `~` is null then, and `<<` merges. */
function isPlain(event: NodeEvent): event is ScalarEvent & { style: typeof SCALAR_STYLE.PLAIN } {
  return event.type === EVENT_ID.SCALAR && event.style === SCALAR_STYLE.PLAIN && event.tagStart < 0;
}

/** Not `Object.create(null)`: that would make each of these objects a slow dictionary. */
function newObject(): JsonObject {
  return Object.setPrototypeOf({}, null) as JsonObject;
}
