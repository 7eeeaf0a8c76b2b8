import type { FieldReader } from "../reader/field-reader.ts";
import { kindOf } from "../values/json.ts";

/** An object whose values are strings, such as labels. Other values are reported and left out. */
export function readStrings(parent: FieldReader, field: string): Record<string, string> | undefined {
  const reader = parent.object(field);
  if (reader === undefined) return undefined;
  const strings = Object.create(null) as Record<string, string>;
  for (const key of Object.keys(reader.json)) {
    const value = reader.string(key);
    if (value !== undefined) strings[key] = value;
  }
  return strings;
}

/** A list of strings that differ and are not empty. Other items are reported and left out. */
export function readTexts(parent: FieldReader, field: string): string[] {
  const value = parent.value(field);
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    parent.error("Invalid", field, `expected a list, found ${kindOf(value)}`);
    return [];
  }
  const texts = new Set<string>();
  for (const [index, item] of value.entries()) {
    const at = [...parent.at(field), index];
    if (typeof item !== "string") parent.findings.error("Invalid", at, `expected a string, found ${kindOf(item)}`);
    else if (item === "") parent.findings.error("Invalid", at, "is empty");
    else if (texts.has(item)) parent.findings.error("Duplicate", at, "is in the list already");
    else texts.add(item);
  }
  return [...texts];
}
