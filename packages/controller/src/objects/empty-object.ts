import type { JsonObject } from "@xfn/functionio";

/** An object without a prototype, so that a field named `__proto__` is data. */
export function emptyObject(): JsonObject {
  return Object.create(null) as JsonObject;
}
