import type { JsonValue } from "@xfn/functionio";
import { isObject } from "@xfn/functionio";

/**
 * JSON exactly as Go's `encoding/json` prints it: keys sorted, `<`, `>` and `&` escaped, no spaces. Connection details
 * that are not plain strings are published in this form, so a secret's bytes must not depend on who composed it.
 *
 * Key order is by code unit, where Go compares UTF-8 bytes: the two differ only beyond the Basic Multilingual Plane.
 */
export function printGoJson(value: JsonValue): string {
  if (typeof value === "string") return printString(value);
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return `[${value.map(printGoJson).join(",")}]`;
  if (isObject(value)) {
    const fields = Object.keys(value)
      .toSorted()
      .map((key) => `${printString(key)}:${printGoJson(value[key] ?? null)}`);
    return `{${fields.join(",")}}`;
  }
  return JSON.stringify(value);
}

// An escape sequence as a whole (so that `\\\\b`, a backslash and a letter, is left alone), or a character to escape.
const ESCAPED = /\\.|[<>&\u2028\u2029]/g;

function printString(text: string): string {
  return JSON.stringify(text.toWellFormed()).replace(ESCAPED, (found) => {
    // Go 1.20 has no short form for backspace and form feed.
    if (found === "\\b") return "\\u0008";
    if (found === "\\f") return "\\u000c";
    return found.startsWith("\\") ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
