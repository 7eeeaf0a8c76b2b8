import { FieldPathError, parseFieldPath } from "./field-path.ts";
import type { FieldReader } from "./field-reader.ts";

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
