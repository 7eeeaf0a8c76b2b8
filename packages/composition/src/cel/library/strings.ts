import { quote } from "../../transform/text/quote.ts";
import { codePoints } from "../../values/code-points.ts";
import { Failure, List } from "../values/value.ts";
import { visitText } from "../values/visit.ts";
import { boundedLength } from "./bounds.ts";
import type { Define } from "./define.ts";
import { formatText } from "./format-text.ts";
import { patternOf } from "./patterns.ts";

/** Texts: CEL's own functions, version 2 of its strings library, and Kubernetes' regular expressions. */
export function defineStrings(define: Define): void {
  define("contains", "string.(string) bool", (text: string, part: string) => text.includes(part), "contains_string");
  define("endsWith", "string.(string) bool", (text: string, part: string) => text.endsWith(part), "ends_with_string");
  define(
    "startsWith",
    "string.(string) bool",
    (text: string, part: string) => text.startsWith(part),
    "starts_with_string",
  );
  define("charAt", "string.(int) string", charAt);
  const find = (text: string, part: string, from?: bigint): bigint | Failure => indexOf(text, part, from ?? 0n);
  define("indexOf", "string.(string) int", find);
  define("indexOf", "string.(string, int) int", find);
  define("lastIndexOf", "string.(string) int", lastIndexOf);
  define("lastIndexOf", "string.(string, int) int", lastIndexOf);
  define("lowerAscii", "string.() string", (text: string) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase()));
  define("upperAscii", "string.() string", (text: string) => text.replace(/[a-z]+/g, (part) => part.toUpperCase()));
  define("replace", "string.(string, string) string", (text: string, from: string, to: string) =>
    replace(text, from, to, -1),
  );
  define("replace", "string.(string, string, int) string", (text: string, from: string, to: string, count: bigint) =>
    replace(text, from, to, Number(count)),
  );
  define("split", "string.(string) list<string>", (text: string, by: string) => split(text, by, -1));
  define("split", "string.(string, int) list<string>", (text: string, by: string, count: bigint) =>
    split(text, by, Number(count)),
  );
  define("substring", "string.(int) string", (text: string, from: bigint) => substring(text, from));
  define("substring", "string.(int, int) string", substring);
  define("trim", "string.() string", trim);
  define(
    "format",
    "string.(list<dyn>) string",
    (text: string, { items }: List) => formatText(text, items),
    "string_format",
  );
  define("strings.quote", "(string) string", (text: string) => quote(text, false), "strings_quote");
  define("join", "list<string>.() string", (list: List) => join(list, ""));
  define("join", "list<string>.(string) string", join);
  definePatterns(define);
}

function definePatterns(define: Define): void {
  const matches = (text: string, pattern: string): boolean | Failure => {
    const compiled = patternOf(pattern);
    return compiled instanceof Failure ? compiled : compiled.test(text);
  };
  define("matches", "(string, string) bool", matches);
  define("matches", "string.(string) bool", matches, "matches_string");
  define("find", "string.(string) string", (text: string, pattern: string) => {
    const found = findAll(text, pattern, 1);
    return found instanceof Failure ? found : (found[0] ?? "");
  });
  const all = (text: string, pattern: string, limit?: bigint): List | Failure => {
    const found = findAll(text, pattern, Number(limit ?? -1n));
    return found instanceof Failure ? found : new List(found);
  };
  define("findAll", "string.(string) list<string>", all);
  define("findAll", "string.(string, int) list<string>", all);
}

function findAll(text: string, pattern: string, limit: number): string[] | Failure {
  const compiled = patternOf(pattern);
  if (compiled instanceof Failure) return compiled;
  const matcher = compiled.matcher(text);
  const found: string[] = [];
  while (found.length !== limit && matcher.find()) found.push(matcher.group() ?? "");
  return found;
}

/** White space of Go: that of JavaScript without the byte order mark, and with the next line of C1. */
const SPACE = /[^\S\uFEFF]|\u0085/;

/** A loop, because a regular expression takes quadratic time on white space within a text. */
function trim(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && SPACE.test(text.charAt(from))) from++;
  while (to > from && SPACE.test(text.charAt(to - 1))) to--;
  return text.slice(from, to);
}

function charactersOf(text: string): string[] {
  visitText(text);
  return [...text];
}

function charAt(text: string, index: bigint): string | Failure {
  const characters = charactersOf(text);
  if (index < 0n || index > BigInt(characters.length)) return new Failure("index out of range");
  return characters[Number(index)] ?? "";
}

function indexOf(text: string, part: string, from: bigint): bigint | Failure {
  if (part === "") return from;
  const characters = charactersOf(text);
  if (from < 0n || from > BigInt(characters.length)) return new Failure("index out of range");
  const start = characters.slice(0, Number(from)).join("").length;
  const found = text.indexOf(part, start);
  return found < 0 ? -1n : BigInt(codePoints(text.slice(0, found)));
}

function lastIndexOf(text: string, part: string, from?: bigint): bigint | Failure {
  const characters = charactersOf(text);
  if (from === undefined && part === "") return BigInt(characters.length);
  if (part === "") return from as bigint;
  if (from !== undefined && (from < 0n || from >= BigInt(characters.length))) {
    return new Failure("index out of range");
  }
  const start = from === undefined ? text.length : characters.slice(0, Number(from)).join("").length;
  const found = text.lastIndexOf(part, start);
  return found < 0 ? -1n : BigInt(codePoints(text.slice(0, found)));
}

function replace(text: string, from: string, to: string, count: number): string | Failure {
  // Without a text to replace, Go inserts before and after every character.
  const parts = from === "" ? ["", ...text, ""] : text.split(from);
  const times = count < 0 ? parts.length - 1 : Math.min(count, parts.length - 1);
  const failure = boundedLength(text.length + times * to.length);
  if (failure !== undefined) return failure;
  return [...parts.slice(0, times), parts.slice(times).join(from)].join(to);
}

function split(text: string, by: string, count: number): List | Failure {
  if (count === 0) return new List([]);
  const parts = by === "" ? [...text] : text.split(by);
  if (count < 0 || parts.length <= count) return new List(parts);
  return new List([...parts.slice(0, count - 1), parts.slice(count - 1).join(by)]);
}

function substring(text: string, from: bigint, to?: bigint): string | Failure {
  const characters = charactersOf(text);
  const end = to ?? BigInt(characters.length);
  if (from < 0n || from > BigInt(characters.length) || end < 0n || end > BigInt(characters.length)) {
    return new Failure("index out of range");
  }
  if (from > end) return new Failure("invalid substring range");
  return characters.slice(Number(from), Number(end)).join("");
}

function join({ items }: List, separator: string): string | Failure {
  const texts: string[] = [];
  let length = 0;
  for (const item of items) {
    if (typeof item !== "string") return new Failure("no such overload");
    length += item.length + separator.length;
    texts.push(item);
  }
  return boundedLength(length) ?? texts.join(separator);
}
