import { FieldPathError, parseFieldPath } from "./field-path.ts";
import type { FieldReader } from "./field-reader.ts";

/**
 * A field that holds a field path. One that no run can read is a warning: the reference accepts it, and fails each time
 * that it gets to it.
 */
export function readFieldPath(reader: FieldReader, field: string): string | undefined {
  const text = reader.string(field);
  if (text === undefined) return undefined;
  try {
    parseFieldPath(text);
  } catch (error) {
    if (!(error instanceof FieldPathError)) throw error;
    reader.warning("Invalid", field, error.message);
  }
  return text;
}
