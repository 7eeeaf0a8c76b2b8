/**
 * Whether a value can have a JSON form within a bound. Stops at the bound, so that the time does not depend on the size
 * of a large value. The form can be larger.
 *
 * @param value JSON with Maps for objects and bytes
 */
export function isWithin(value: unknown, maxBytes: number): boolean {
  return left(value, maxBytes) >= 0;
}

function left(value: unknown, bytes: number): number {
  if (typeof value === "string") return bytes - value.length;
  if (value instanceof Uint8Array) return bytes - value.length;
  if (typeof value !== "object" || value === null) return bytes - 1;
  let rest = bytes;
  for (const [key, item] of entriesOf(value)) {
    if (rest < 0) break;
    rest = left(item, rest - (typeof key === "string" ? key.length : 0));
  }
  return rest;
}

function entriesOf(value: object): Iterable<readonly [unknown, unknown]> {
  if (value instanceof Map) return value;
  return Array.isArray(value) ? value.entries() : Object.entries(value);
}
