import { FieldPathError, MAX_INDEX, parseFieldPath } from "../field-path/field-path.ts";
import type { FieldReader } from "../reader/field-reader.ts";

/** What most paths look like; a file has thousands, and reading each would be a third of the time that checking it takes. */
const PLAIN_PATH = /^[A-Za-z][\w-]{0,99}(?:\.[A-Za-z][\w-]{0,99}|\[(?:\d{1,3}|\*)\]){0,99}$/;

/**
 * A field that holds a field path. One that no run can read is a warning: the reference accepts it, and fails each time
 * that it gets to it.
 */
export function readFieldPath(reader: FieldReader, field: string): string | undefined {
  const text = reader.string(field);
  if (text === undefined || PLAIN_PATH.test(text)) return text;
  try {
    parseFieldPath(text);
  } catch (error) {
    if (!(error instanceof FieldPathError)) throw error;
    reader.warning("Invalid", field, error.message);
  }
  return text;
}

/** {@link readFieldPath}, of a path that is written to: an index that no list may have is a warning, too. */
export function readTargetPath(reader: FieldReader, field: string): string | undefined {
  const text = readFieldPath(reader, field);
  if (text === undefined || PLAIN_PATH.test(text)) return text;
  if (hasLargeIndex(text)) {
    reader.warning("Invalid", field, `the largest index is ${MAX_INDEX}; every run that gets to it fails`);
  }
  return text;
}

function hasLargeIndex(text: string): boolean {
  try {
    return parseFieldPath(text).some((segment) => typeof segment === "number" && segment > MAX_INDEX);
  } catch (error) {
    // Already reported.
    if (error instanceof FieldPathError) return false;
    throw error;
  }
}
