import {
  CelMap,
  CelObject,
  Duration,
  Extension,
  type Key,
  List,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./value.ts";
import { visit } from "./visit.ts";

/** Whether two values are equal. Numbers compare across types. The kind of the left list decides how lists compare. */
export function equal(a: Value, b: Value): boolean {
  if (a === b) return typeof a !== "number" || !Number.isNaN(a);
  if (isNumeric(a)) return isNumeric(b) && compareNumbers(a, b) === 0;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  visit();
  if (a instanceof List) return b instanceof List && sameLists(a, b);
  if (a instanceof CelMap) {
    if (b instanceof CelMap) return sameMaps(a, b);
    return b instanceof CelObject && b.type === undefined && sameMaps(a, new CelMap(b.fields));
  }
  if (a instanceof CelObject) {
    if (b instanceof CelObject) return sameMaps(new CelMap(a.fields), new CelMap(b.fields));
    return b instanceof CelMap && sameMaps(new CelMap(a.fields), b);
  }
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos;
  if (a instanceof Optional) {
    if (!(b instanceof Optional)) return false;
    if (a.value === undefined || b.value === undefined) return a.value === b.value;
    return equal(a.value, b.value);
  }
  // A type has no parameters at run time.
  if (a instanceof TypeValue) return b instanceof TypeValue && a.type.name === b.type.name;
  if (a instanceof Uint8Array) {
    return b instanceof Uint8Array && a.length === b.length && a.every((byte, at) => byte === b[at]);
  }
  return a instanceof Extension && b instanceof Extension && a.type.name === b.type.name && a.equals(b);
}

/** A number of any type. */
export type Numeric = bigint | number | Uint;

export function isNumeric(value: Value): value is Numeric {
  return typeof value === "bigint" || typeof value === "number" || value instanceof Uint;
}

/** -1, 0 or 1, or NaN if one of them is. */
export function compareNumbers(a: Numeric, b: Numeric): number {
  const left = a instanceof Uint ? a.value : a;
  const right = b instanceof Uint ? b.value : b;
  if (left < right) return -1;
  if (left > right) return 1;
  return Number.isNaN(left) || Number.isNaN(right) ? Number.NaN : 0;
}

function sameMaps(a: CelMap, b: CelMap): boolean {
  if (a.entries.size !== b.entries.size) return false;
  for (const key of a.entries.keys()) {
    const left = a.entries.get(key);
    const right = b.entries.get(key);
    if (left === undefined || right === undefined || !equal(left, right)) return false;
  }
  return true;
}

function sameLists(a: List, b: List): boolean {
  if (a.items.length !== b.items.length) return false;
  if (a.kind === "atomic") return a.items.every((item, at) => equal(item, b.items[at] as Value));
  if (a.kind === "set") {
    const items = new ValueSet(a.items);
    return b.items.every((item) => items.has(item));
  }
  const byKey = new Map(a.items.map((item) => [identity(item, a.keys), item]));
  return b.items.every((item) => {
    const own = byKey.get(identity(item, a.keys));
    return own !== undefined && equal(own, item);
  });
}

/** Finds values in a list, scalars in constant time. */
export class ValueSet {
  readonly #scalars: Set<unknown> = new Set();
  readonly #others: Value[] = [];

  constructor(items: readonly Value[]) {
    for (const item of items) {
      const scalar = scalarOf(item);
      if (scalar === undefined) this.#others.push(item);
      else this.#scalars.add(scalar);
    }
  }

  has(value: Value): boolean {
    const scalar = scalarOf(value);
    if (scalar !== undefined) return this.#scalars.has(scalar);
    return this.#others.some((item) => equal(item, value));
  }
}

/** A scalar in a form that JavaScript compares by value. Undefined for other values. */
function scalarOf(value: Value): Key | number | null | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (value instanceof Uint) return value.value;
  return typeof value === "object" && value !== null ? undefined : value;
}

/** The values of an item's key fields as one text. */
export function identity(item: Value, keys: readonly string[]): string {
  if (!(item instanceof CelObject)) return "";
  return JSON.stringify(
    keys.map((key) => {
      const value = item.fields.get(key);
      return value === undefined ? null : `${typeof value} ${String(scalarOf(value))}`;
    }),
  );
}
