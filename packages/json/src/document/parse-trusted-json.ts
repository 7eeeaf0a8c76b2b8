import { type ResolvedLimits, resolveLimits } from "../text/limits.ts";
import { hasEscapedKey } from "../text/native-json.ts";
import { parseJson } from "../text/parse-json.ts";
import { decodeText } from "../text/text.ts";
import type { JsonValue } from "../value/json-value.ts";
import type { ReadOptions } from "./read.ts";

// Values that `JSON.parse` alone gets wrong: integers beyond 2^53 and lone surrogates. A match inside a string only
// costs time.
const SPECIAL = /\d{16}|\\u[dD][89a-fA-F]/;

/**
 * Reads JSON of a program that never writes a key twice into an object, such as an API server. A later duplicate of a
 * key wins; `parseJsonDocument` rejects duplicates. Otherwise equal to it, in a fifth of the time: integers are exact,
 * and objects have null prototypes.
 *
 * @throws {DocumentError} with line and column
 */
export function parseTrustedJson(input: string | Uint8Array, options: ReadOptions = {}): JsonValue {
  const limits = resolveLimits(options.limits);
  const text = decodeText(input, limits, options.source);
  return quickly(text, limits) ?? parseJson(text, limits, options.source);
}

/** Undefined if the exact reader must run, for exact values or for an error with a position. It reads null too. */
function quickly(text: string, limits: ResolvedLimits): JsonValue | undefined {
  if (SPECIAL.test(text) || hasEscapedKey(text)) return undefined;
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
  if (typeof value === "object") return value !== null && adopt(value, limits.maxDepth) ? value : undefined;
  return value === Infinity || value === -Infinity ? undefined : value;
}

/** Removes prototypes. False if the value is too deep, or a number was too large for a double. */
function adopt(value: Exclude<JsonValue, string | number | bigint | boolean | null>, depth: number): boolean {
  if (depth === 0) return false;
  if (Array.isArray(value)) {
    for (const child of value) if (!fits(child, depth)) return false;
    return true;
  }
  Object.setPrototypeOf(value, null);
  for (const key in value) if (!fits(value[key] as JsonValue, depth)) return false;
  return true;
}

function fits(child: JsonValue, depth: number): boolean {
  if (typeof child === "object") return child === null || adopt(child, depth - 1);
  return child !== Infinity && child !== -Infinity;
}
