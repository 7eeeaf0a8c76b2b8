import type { JsonPath, JsonValue } from "@xfn/json";
import { Hidden, type Masked, maskedAt } from "./masked.ts";
import { maskPlaces } from "./secret-places.ts";

/**
 * Reports whether a trace would hide a field of an object, or a part of the field, because of its position and its
 * name. For callers that print values of resources.
 */
export function secretFields(object: JsonValue): (at: JsonPath) => boolean {
  const root = maskPlaces(object, { onHidden: () => {} });
  return (at) => {
    const value = maskedAt(root, at);
    return value !== undefined && hides(value);
  };
}

function hides(value: Masked): boolean {
  if (value instanceof Hidden) return true;
  if (Array.isArray(value)) return value.some(hides);
  return value instanceof Map && [...value.values()].some(hides);
}
