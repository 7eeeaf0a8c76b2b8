import { CodedError } from "@xfn/errors";
import { asDouble, Float64, type GoValue, goKind } from "./go-value.ts";
import { MAX_VALUE_DEPTH } from "./json.ts";

/**
 * A value that cannot be printed as JSON. `NotFinite`: NaN or an infinite number. `TooDeep`: nested deeper than
 * parsers accept.
 */
export class GoJsonError extends CodedError<"NotFinite" | "TooDeep"> {
  override readonly name = "GoJsonError";
}

/**
 * Prints JSON byte for byte like `encoding/json` of Go 1.20: keys sorted by their UTF-8, `<`, `>` and `&` escaped, no
 * spaces, float64 without a fraction as integers. Connection details that are not strings are published in this form,
 * and transforms hash it, so its bytes must equal those of Crossplane.
 *
 * @throws {GoJsonError}
 */
export function printGoJson(value: GoValue): string {
  return print(value, 0);
}

function print(value: GoValue, depth: number): string {
  if (typeof value === "string") return printString(value);
  if (typeof value === "number") return printNumber(value);
  if (typeof value === "bigint") return goKind(value) === "int64" ? value.toString() : printNumber(asDouble(value));
  if (value === null || typeof value === "boolean") return String(value);
  // A plain -0 is an int64, which has no negative zero.
  if (value instanceof Float64) return Object.is(value.value, -0) ? "-0" : printNumber(value.value);
  if (depth >= MAX_VALUE_DEPTH) {
    throw new GoJsonError("TooDeep", `a value is nested deeper than ${MAX_VALUE_DEPTH} levels`);
  }
  if (Array.isArray(value)) return `[${value.map((item) => print(item, depth + 1)).join(",")}]`;
  const fields = Object.keys(value)
    .toSorted(compareUtf8)
    .map((key) => `${printString(key)}:${print(value[key] ?? null, depth + 1)}`);
  return `{${fields.join(",")}}`;
}

function printNumber(value: number): string {
  if (!Number.isFinite(value)) throw new GoJsonError("NotFinite", "NaN and infinite numbers cannot be JSON");
  // For all others Go's encoding/json chooses digits and exponent as JavaScript does.
  return String(value);
}

/** Orders strings by their UTF-8 bytes like Go. JavaScript's order differs beyond the Basic Multilingual Plane. */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return aboveSurrogates(left) - aboveSurrogates(right);
  }
  return a.length - b.length;
}

/** Moves surrogates, which encode code points beyond U+FFFF, behind all other code units. */
function aboveSurrogates(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

// A numbered escape, any other (so that `\\\\b`, a backslash and a letter, is left alone), or a character to escape.
const ESCAPED = /\\u[0-9a-f]{4}|\\.|[<>&\u2028\u2029]/g;

function printString(text: string): string {
  return JSON.stringify(text).replace(ESCAPED, (found) => {
    // Go 1.20 has no short form for backspace and form feed.
    if (found === "\\b") return "\\u0008";
    if (found === "\\f") return "\\u000c";
    // JavaScript escapes lone surrogates. Surrogates from U+DC80 stand for bytes of invalid UTF-8, which Go
    // escapes. Go reads any other as the replacement character.
    if (found.startsWith("\\ud")) return /^\\udc[89a-f]/.test(found) ? "\\ufffd" : "\ufffd";
    return found.startsWith("\\") ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
