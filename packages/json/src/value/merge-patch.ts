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
    const before = own(has, key);
    const after = wanted[key] ?? null;
    if (isObject(before) && isObject(after)) {
      const inner = mergePatch(before, after);
      if (inner !== undefined) patch[key] = inner;
    } else if (before === undefined || !sameJson(before, after)) patch[key] = after;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** Whether a merge patch (RFC 7386) changes nothing: null stands for an absent field. */
export function isPatched(has: JsonValue | undefined, patch: JsonValue): boolean {
  if (patch === null) return has === undefined;
  if (!isObject(patch)) return has !== undefined && sameJson(has, patch);
  return isObject(has) && Object.entries(patch).every(([key, value]) => isPatched(own(has, key), value));
}

function own(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
