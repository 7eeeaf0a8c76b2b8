import { isObject, type JsonObject, type JsonValue } from "./json-value.ts";
import { newObject } from "./new-object.ts";
import { sameJson } from "./same-json.ts";

/**
 * The merge patch (RFC 7386) from one object to another; undefined if they are equal. A patch replaces lists as a
 * whole.
 */
export function mergePatch(has: JsonObject, wanted: JsonObject): JsonObject | undefined {
  const patch = newObject();
  for (const key of Object.keys(has)) if (!Object.hasOwn(wanted, key)) patch[key] = null;
  for (const key of Object.keys(wanted)) {
    const before: JsonValue | undefined = Object.hasOwn(has, key) ? has[key] : undefined;
    const after = wanted[key] ?? null;
    if (isObject(before) && isObject(after)) {
      const inner = mergePatch(before, after);
      if (inner !== undefined) patch[key] = inner;
    } else if (before === undefined || !sameJson(before, after)) patch[key] = after;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}
