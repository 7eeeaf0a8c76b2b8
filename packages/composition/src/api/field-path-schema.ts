import type { JsonObject, JsonValue } from "@xfn/json";
import { custom, type Schema, text } from "../api-schema/schema.ts";
import { type FieldPath, FieldPathError, MAX_INDEX, parseFieldPath } from "../field-path/field-path.ts";
import type { FieldReader } from "../reader/field-reader.ts";

/**
 * Matches most paths. A file has thousands, and parsing each would take a third of the time of checking the file.
 */
const PLAIN_PATH = /^[A-Za-z][\w-]{0,99}(?:\.[A-Za-z][\w-]{0,99}|\[(?:\d{1,3}|\*)\]){0,99}$/;

const PATH = text(1024).openApi;

/** A field path. A path that no run can read is a warning: Crossplane accepts it, and fails when a run gets to it. */
export function fieldPath(openApi: JsonObject = PATH): Schema<string> {
  return custom(openApi, readPath);
}

/** The path of a patch's source, which has no wildcards. */
export const SOURCE_PATH: Schema<string> = custom(PATH, (value, owner, field) => {
  readPath(value, owner, field);
  warnOfWildcard(owner, field);
});

/** The path of a patch's target. An index that no list can have is a warning. */
export const TARGET_PATH: Schema<string> = custom(PATH, (value, owner, field) => {
  const path = readPath(value, owner, field);
  if (path?.some((segment) => typeof segment === "number" && segment > MAX_INDEX) === true) {
    owner.warning("Invalid", field, `the largest index is ${MAX_INDEX}; every run that gets to it fails`);
  }
});

/** Warns of `*` in a path without wildcards. There it is the name of a field, which hardly any object has. */
export function warnOfWildcard(reader: FieldReader, field: string): void {
  const path = reader.value(field);
  if (typeof path !== "string" || !path.includes("[*]")) return;
  const where = "wildcards work only in the toFieldPath of patches other than Combine";
  reader.warning("Invalid", field, `[*] means a field called * here, not each item; ${where}`);
}

/** The path in a field. Undefined if there is none, if it was reported, or if it is plain. */
function readPath(value: JsonValue, reader: FieldReader, field: string): FieldPath | undefined {
  const text = reader.string(field, value);
  if (text === undefined || PLAIN_PATH.test(text)) return undefined;
  try {
    return parseFieldPath(text);
  } catch (error) {
    if (!(error instanceof FieldPathError)) throw error;
    reader.warning("Invalid", field, error.message);
    return undefined;
  }
}
