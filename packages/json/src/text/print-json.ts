import { formatPath, type JsonValue } from "../value/json-value.ts";
import { DocumentError } from "./document-error.ts";
import { notJson } from "./not-json.ts";
import { escapeUnsafe } from "./unsafe-text.ts";

/**
 * Prints a value as JSON, with exact integers beyond 2^53. Compact for programs, or indented by `indent` spaces for
 * people: then escaped so that no terminal acts on it (see {@link escapeUnsafe}).
 *
 * @throws {DocumentError} NotJson for values that JSON would silently turn into null: NaN, infinities
 */
export function printJson(value: JsonValue, indent = 0): string {
  const contents = { exact: false, bad: false };
  scan(value, contents);
  if (contents.bad) {
    const found = notJson(value);
    if (found !== undefined) {
      throw new DocumentError("NotJson", [{ path: formatPath(found.path), message: found.message }]);
    }
  }
  // A replacer makes printing several times slower, so it is used only if a number needs it.
  const text = contents.exact ? JSON.stringify(value, exactInteger, indent) : JSON.stringify(value, null, indent);
  return indent === 0 ? text : escapeUnsafe(text);
}

/**
 * The digits of an integer that `String(number)` would round: 41538645226132408 prints as ...410, another integer. From
 * 1e21 on, numbers print with an exponent and parse to the same value.
 */
function exactDigits(value: number | bigint): string | undefined {
  if (typeof value === "bigint") return value.toString();
  if (Number.isSafeInteger(value) || !Number.isInteger(value) || Math.abs(value) >= 1e21) return undefined;
  return BigInt(value).toString();
}

interface RawJson {
  rawJSON(text: string): unknown;
}

function exactInteger(_key: string, value: unknown): unknown {
  if (typeof value !== "bigint" && typeof value !== "number") return value;
  const digits = exactDigits(value);
  return digits === undefined ? value : (JSON as unknown as RawJson).rawJSON(digits);
}

function scan(value: JsonValue, contents: { exact: boolean; bad: boolean }): void {
  if (typeof value === "object") {
    if (value === null) return;
    if (Array.isArray(value)) for (const item of value) scan(item, contents);
    else for (const key in value) scan(value[key] as JsonValue, contents);
  } else if (typeof value === "bigint") contents.exact = true;
  else if (typeof value === "number" && !Number.isSafeInteger(value)) {
    if (!Number.isFinite(value)) contents.bad = true;
    else if (exactDigits(value) !== undefined) contents.exact = true;
  }
}
