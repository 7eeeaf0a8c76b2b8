import {
  CelMap,
  CelObject,
  Duration,
  type Entries,
  Extension,
  Failure,
  type Key,
  List,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./value.ts";
import { visit } from "./visit.ts";

/** Kubernetes panics where it compares a set with lists or objects, so that no operator absorbs the failure. */
export const UNHASHABLE: Error = new Error("hash of unhashable type");

const NO_OVERLOAD = new Failure("no such overload");

/** Whether `a == b` is true. */
export function equal(a: Value, b: Value): boolean {
  return equality(a, b) === true;
}

/**
 * The result of `a == b`. Numbers compare across types, and the left list decides how lists compare. Data and values of
 * Kubernetes' types fail on the left of values of other types.
 */
export function equality(a: Value, b: Value): boolean | Failure {
  return a === null || b === null ? a === b : compare(a, b);
}

/** Compares two values as the method `Equal` of the left one. */
function compare(a: Value, b: Value): boolean | Failure {
  if (a === b && !(a instanceof Extension)) return typeof a !== "number" || !Number.isNaN(a);
  if (isNumeric(a)) return isNumeric(b) && compareNumbers(a, b) === 0;
  if (typeof a !== "object" || a === null) return false;
  visit();
  if (a instanceof List) return b instanceof List ? compareLists(a, b) : misfit(a.isData);
  if (a instanceof CelMap || a instanceof CelObject) {
    if (b instanceof CelMap || b instanceof CelObject) return compareMaps(a, b);
    return misfit(isFromData(a));
  }
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos;
  if (a instanceof Optional) {
    if (!(b instanceof Optional)) return false;
    if (a.value === undefined || b.value === undefined) return a.value === b.value;
    return compare(a.value, b.value);
  }
  // A type has no parameters at run time.
  if (a instanceof TypeValue) return b instanceof TypeValue && a.type.name === b.type.name;
  if (a instanceof Uint8Array) {
    return b instanceof Uint8Array && a.length === b.length && a.every((byte, at) => byte === b[at]);
  }
  const fits = b instanceof Extension && a instanceof Extension && a.type.name === b.type.name && b.isRightOperand;
  return fits ? a.equals(b) : NO_OVERLOAD;
}

function misfit(isData: boolean): false | Failure {
  return isData ? NO_OVERLOAD : false;
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

function compareMaps(a: CelMap | CelObject, b: CelMap | CelObject): boolean | Failure {
  const [left, right] = [entriesOf(a), entriesOf(b)];
  if (left.size !== right.size) return false;
  const isData = isFromData(a);
  const isOpen = a instanceof CelObject && a.type === undefined;
  for (const key of left.keys()) {
    const [value, other] = [left.get(key), right.get(key)];
    // Fields without a schema: pkg/cel/common/valuesunstructured.go of k8s.io/apiserver skips those that b lacks.
    if (isOpen) {
      if (!isFromData(b)) return NO_OVERLOAD;
      if (value !== undefined && other !== undefined && compare(value, other) !== true) return false;
      continue;
    }
    if (value === undefined || other === undefined) return false;
    const result = isData ? compare(value, other) : equality(value, other);
    // A map of the expression ignores failures, as cel-go does: common/types/map.go.
    if (result === false || (isData && result !== true)) return result;
  }
  return true;
}

function isFromData(map: CelMap | CelObject): boolean {
  return map instanceof CelObject || map.isData;
}

function entriesOf(map: CelMap | CelObject): Entries {
  return map instanceof CelMap ? map.entries : map.fields;
}

function compareLists(a: List, b: List): boolean | Failure {
  if (a.items.length !== b.items.length) return false;
  if (a.kind === "set") {
    const items = new ValueSet(a);
    for (const item of b.items) {
      if (item instanceof List || item instanceof CelMap || item instanceof CelObject) throw UNHASHABLE;
      if (!items.has(item)) return false;
    }
    return true;
  }
  if (a.kind === "map") {
    const byKey = new Map(a.items.map((item) => [identity(item, a.keys), item]));
    for (const item of b.items) {
      const own = byKey.get(identity(item, a.keys));
      const result = own !== undefined && compare(own, item);
      if (result !== true) return result;
    }
    return true;
  }
  let failure: Failure | undefined;
  for (const [at, item] of a.items.entries()) {
    const other = b.items[at] as Value;
    const result = a.isData ? compare(item, other) : equality(item, other);
    if (result === false || (a.isData && result !== true)) return result;
    if (result !== true) failure ??= result;
  }
  // A literal list ignores failures, unlike an addition of two: common/types/list.go of cel-go.
  return a.parts.length === 0 ? true : (failure ?? true);
}

/** Finds values in a list, scalars in constant time. */
export class ValueSet {
  readonly #scalars: Set<unknown> = new Set();
  readonly #others: Value[] = [];
  readonly #isData: boolean;
  readonly #parts: readonly ValueSet[];

  constructor({ items, isData, parts }: List) {
    visit();
    this.#isData = isData;
    this.#parts = parts.map((part) => new ValueSet(part));
    if (parts.length > 0) return;
    for (const item of items) {
      const scalar = scalarOf(item);
      if (scalar === undefined) this.#others.push(item);
      else this.#scalars.add(scalar);
    }
  }

  has(value: Value): boolean {
    return this.find(value) === true;
  }

  /** Fails for a list of the data that does not have the value, and an item that cannot be compared with it. */
  find(value: Value): boolean | Failure {
    if (this.#parts.length > 0) {
      const results = this.#parts.map((part) => part.find(value));
      return results.includes(true) || (results.find((result) => result !== false) ?? false);
    }
    const scalar = scalarOf(value);
    if (scalar !== undefined && this.#scalars.has(scalar)) return true;
    let failed = false;
    for (const item of this.#others) {
      const result = this.#isData ? compare(item, value) : compare(value, item);
      if (result === true) return true;
      failed ||= result !== false;
    }
    return failed && this.#isData ? NO_OVERLOAD : false;
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
