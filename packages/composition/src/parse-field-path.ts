import { FieldPathError, parseFieldPath } from "./field-path.ts";
import type { FieldReader } from "./field-reader.ts";

/** Warns about a path that no run can read: the reference accepts it, and fails each time that it gets to it. */
export function checkFieldPath(reader: FieldReader, field: string): void {
  const text = reader.string(field);
  if (text === undefined) return;
  try {
    parseFieldPath(text);
  } catch (error) {
    if (!(error instanceof FieldPathError)) throw error;
    reader.warning("Invalid", field, error.message);
  }
}
