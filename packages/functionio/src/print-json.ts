import { DocumentError } from "./errors.ts";
import { formatPath, type JsonValue } from "./json-value.ts";
import { notJson } from "./not-json.ts";

/**
 * JSON text of a value; integers beyond 2^53 exactly. Compact, or indented by `indent` spaces.
 *
 * @throws {DocumentError} NotJson, for what JSON would silently turn into null: NaN, infinities
 */
export function printJson(value: JsonValue, indent = 0): string {
  const contents = { bigint: false, bad: false };
  survey(value, contents);
  if (contents.bad) {
    const found = notJson(value);
    if (found !== undefined) {
      throw new DocumentError("NotJson", [{ path: formatPath(found.path), message: found.message }]);
    }
  }
  // A replacer makes printing several times slower, so it is used only where there are bigints.
  return contents.bigint ? JSON.stringify(value, exactInteger, indent) : JSON.stringify(value, null, indent);
}

interface RawJson {
  rawJSON(text: string): unknown;
}

function exactInteger(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? (JSON as unknown as RawJson).rawJSON(value.toString()) : value;
}

function survey(value: JsonValue, contents: { bigint: boolean; bad: boolean }): void {
  if (typeof value === "object") {
    if (value === null) return;
    if (Array.isArray(value)) for (const item of value) survey(item, contents);
    else for (const key in value) survey(value[key] as JsonValue, contents);
  } else if (typeof value === "bigint") contents.bigint = true;
  else if (typeof value === "number" && !Number.isFinite(value)) contents.bad = true;
}
