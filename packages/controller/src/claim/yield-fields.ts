import { formatPath, isObject, type JsonObject, newObject, objectAt, sameJson } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { fieldsOf } from "../objects/managed-fields.ts";

/** Fields that the composite reconciler writes too, but in which it follows other writers. */
const CHOSEN: ReadonlySet<string> = new Set(["compositionRef", "compositionRevisionRef", "compositionUpdatePolicy"]);

/**
 * Removes the claim's fields that the Composition has set to another value: otherwise both controllers would overwrite
 * each other forever. When the Composition releases a field, the claim sets it again.
 *
 * @param all the claim's fields of one object within the composite, such as its spec or its labels
 * @param composite as last read; undefined if it does not exist
 * @returns the remaining fields, and the paths of the removed ones
 */
export function yieldFields(
  all: JsonObject,
  composite: LiveObject | undefined,
  ...within: readonly string[]
): { own: JsonObject; yielded: string[] } {
  if (composite === undefined) return { own: all, yielded: [] };
  const composedFields = objectAt(
    fieldsOf(composite, (manager) => manager === FIELD_MANAGERS.xr || manager === FIELD_MANAGERS.composite),
    ...within.map((step) => `f:${step}`),
  );
  const yielded: string[] = [];
  const walk = (wanted: JsonObject, has: JsonObject, fields: JsonObject, path: readonly string[]): JsonObject => {
    const rest = newObject();
    for (const [key, value] of Object.entries(wanted)) {
      const theirs = fields[`f:${key}`];
      const live = Object.hasOwn(has, key) ? has[key] : undefined;
      const at = [...path, key];
      if (!isObject(theirs) || live === undefined || (path.length === 1 && CHOSEN.has(key))) rest[key] = value;
      else if (isObject(value) && isObject(live) && Object.keys(theirs).some((field) => field.startsWith("f:"))) {
        const inner = walk(value, live, theirs, at);
        if (Object.keys(inner).length > 0) rest[key] = inner;
      } else if (isShared(theirs) || sameJson(value, live)) rest[key] = value;
      else yielded.push(formatPath(at));
    }
    return rest;
  };
  return { own: walk(all, objectAt(composite, ...within), composedFields, within), yielded };
}

/** Whether the fields are items of a list: the server merges lists by item. */
function isShared(fields: JsonObject): boolean {
  return Object.keys(fields).some((field) => /^[kvi]:/.test(field));
}
