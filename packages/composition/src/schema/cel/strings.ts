import type { Environment } from "@marcbachmann/cel-js";
import type { RE2JS } from "re2js";
import { parseRegexp } from "../../transform/text/parse-regexp.ts";
import { boundedLength, CelFunctionError } from "./failure.ts";

/** The string and regular expression libraries, with RE2: https://kubernetes.io/docs/reference/using-api/cel/ */
export function registerStrings(environment: Environment): void {
  const on = (signature: string, handler: (...args: never[]) => unknown): void =>
    void environment.registerFunction(signature, handler);
  on("string.re2_matches(string): bool", (text: string, pattern: string) => compiled(pattern).test(text));
  on("re2_matches(string, string): bool", (text: string, pattern: string) => compiled(pattern).test(text));
  on("string.find(string): string", (text: string, pattern: string) => {
    const matcher = compiled(pattern).matcher(text);
    return matcher.find() ? (matcher.group() ?? "") : "";
  });
  on("string.findAll(string): list<string>", (text: string, pattern: string) => findAll(text, pattern, -1));
  on("string.findAll(string, int): list<string>", (text: string, pattern: string, limit: bigint) =>
    findAll(text, pattern, Number(limit)),
  );
  on("string.charAt(int): string", (text: string, index: bigint) => {
    const characters = [...text];
    if (index < 0n || index > BigInt(characters.length)) throw new CelFunctionError("index out of range");
    return characters[Number(index)] ?? "";
  });
  on("string.replace(string, string): string", (text: string, from: string, to: string) => replace(text, from, to, -1));
  on("string.replace(string, string, int): string", (text: string, from: string, to: string, count: bigint) =>
    replace(text, from, to, Number(count)),
  );
  on("string.ascii_upper(): string", (text: string) => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase()));
  on("string.ascii_lower(): string", (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()));
  on("list.bounded_join(): string", (items: unknown[]) => join(items, ""));
  on("list.bounded_join(string): string", (items: unknown[], separator: string) => join(items, separator));
}

// Rules use few different patterns.
const MAX_PATTERNS = 100;
const patterns = new Map<string, RE2JS>();

function compiled(pattern: string): RE2JS {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  const expression = parseRegexp(pattern);
  if ("reason" in expression) throw new CelFunctionError("invalid regular expression");
  if (patterns.size >= MAX_PATTERNS) patterns.clear();
  patterns.set(pattern, expression);
  return expression;
}

function findAll(text: string, pattern: string, limit: number): string[] {
  const matcher = compiled(pattern).matcher(text);
  const found: string[] = [];
  while (found.length !== limit && matcher.find()) found.push(matcher.group() ?? "");
  return found;
}

function replace(text: string, from: string, to: string, count: number): string {
  const parts = text.split(from);
  const times = count < 0 ? parts.length - 1 : Math.min(count, parts.length - 1);
  boundedLength(text.length + times * to.length);
  const rest = parts.slice(times).join(from);
  return [...parts.slice(0, times), rest].join(to);
}

function join(items: unknown[], separator: string): string {
  let length = 0;
  for (const item of items) {
    if (typeof item !== "string") throw new CelFunctionError("join takes a list of strings");
    boundedLength((length += item.length + separator.length));
  }
  return items.join(separator);
}
