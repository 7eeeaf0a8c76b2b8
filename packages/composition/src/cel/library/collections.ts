import { compareNumbers, equal, isNumeric, ValueSet } from "../values/equality.ts";
import { duration } from "../values/time.ts";
import { Duration, Failure, int, List, Optional, Timestamp, Uint, uint, type Value } from "../values/value.ts";
import type { Define } from "./define.ts";
import { compareTexts } from "./operators.ts";

const COMPARABLE = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"];
const SUMMABLE = ["int", "uint", "double", "duration"];

/** Kubernetes' functions on lists, CEL's sets, and the helper of `transformMap`, which the evaluator has. */
export function defineCollections(define: Define): void {
  for (const type of COMPARABLE) {
    define("isSorted", `list<${type}>.() bool`, ({ items }: List) =>
      items.every((item, at) => at === 0 || order(items[at - 1] as Value, item) <= 0),
    );
    define("min", `list<${type}>.() ${type}`, (list: List) => extreme("min", list, (result) => result < 0));
    define("max", `list<${type}>.() ${type}`, (list: List) => extreme("max", list, (result) => result > 0));
  }
  for (const type of SUMMABLE) define("sum", `list<${type}>.() ${type}`, ({ items }: List) => sum(items, type));
  define("indexOf", "list<T>.(T) int", ({ items }: List, item: Value) =>
    BigInt(items.findIndex((one) => equal(one, item))),
  );
  define("lastIndexOf", "list<T>.(T) int", ({ items }: List, item: Value) =>
    BigInt(items.findLastIndex((one) => equal(one, item))),
  );
  define("first", "list<T>.() optional<T>", ({ items }: List) => new Optional(items[0]));
  define("last", "list<T>.() optional<T>", ({ items }: List) => new Optional(items.at(-1)));
  defineSets(define);
  const special = (): Value => new Failure("no such overload");
  define("cel.@mapInsert", "(map<K, V>, K, V) map<K, V>", special);
  define("cel.@mapInsert", "(map<K, V>, map<K, V>) map<K, V>", special);
}

function defineSets(define: Define): void {
  const contains = (list: List, part: List): boolean | Failure => {
    const known = new ValueSet(list);
    for (const item of part.items) {
      const found = known.find(item);
      if (found !== true) return found;
    }
    return true;
  };
  define("sets.contains", "(list<T>, list<T>) bool", contains, "sets_contains");
  define(
    "sets.equivalent",
    "(list<T>, list<T>) bool",
    (a: List, b: List) => {
      const first = contains(a, b);
      return first === true ? contains(b, a) : first;
    },
    "sets_equivalent",
  );
  define(
    "sets.intersects",
    "(list<T>, list<T>) bool",
    (a: List, b: List) => {
      const known = new ValueSet(b);
      return a.items.some((item) => known.has(item));
    },
    "sets_intersects",
  );
}

/** Compares values of one comparable type. */
function order(a: Value, b: Value): number {
  if (isNumeric(a) && isNumeric(b)) return compareNumbers(a, b);
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  if (typeof a === "boolean") return Number(a) - Number(b);
  if (a instanceof Duration && b instanceof Duration) return compareNumbers(a.nanos, b.nanos);
  if (a instanceof Timestamp && b instanceof Timestamp) return compareNumbers(a.nanos, b.nanos);
  return Number.NaN;
}

function extreme(name: string, { items }: List, better: (order: number) => boolean): Value {
  const [first, ...rest] = items;
  if (first === undefined) return new Failure(`${name} called on empty list`);
  return rest.reduce((best, item) => (better(order(item, best)) ? item : best), first);
}

function sum(items: readonly Value[], type: string): Value {
  let total: Value = type === "int" ? 0n : type === "uint" ? new Uint(0n) : type === "double" ? 0 : new Duration(0n);
  for (const item of items) {
    total = plus(total, item);
    if (total instanceof Failure) break;
  }
  return total;
}

function plus(a: Value, b: Value): Value {
  if (typeof a === "bigint" && typeof b === "bigint") return int(a + b);
  if (typeof a === "number" && typeof b === "number") return a + b;
  if (a instanceof Uint && b instanceof Uint) return uint(a.value + b.value);
  if (a instanceof Duration && b instanceof Duration) return duration(a.nanos + b.nanos);
  return new Failure("no such overload");
}
