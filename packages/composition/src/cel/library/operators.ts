import { codePoints } from "../../values/code-points.ts";
import { compareNumbers, equal, equality, identity, type Numeric, ValueSet } from "../values/equality.ts";
import { duration, timestamp } from "../values/time.ts";
import { typeOfValue } from "../values/type-of-value.ts";
import {
  CelMap,
  CelObject,
  Duration,
  Failure,
  int,
  keyOf,
  List,
  Timestamp,
  TypeValue,
  Uint,
  uint,
  type Value,
} from "../values/value.ts";
import { visitText } from "../values/visit.ts";
import { boundedLength } from "./bounds.ts";
import type { Define } from "./define.ts";

/** The operators. The evaluator has those that do not evaluate all of their operands, and `_[_]`. */
export function defineOperators(define: Define): void {
  const special = (): Value => new Failure("no such overload");
  define("_?_:_", "(bool, A, A) A", special, "conditional");
  define("_&&_", "(bool, bool) bool", special, "logical_and");
  define("_||_", "(bool, bool) bool", special, "logical_or");
  define("@not_strictly_false", "(bool) bool", special);
  define("!_", "(bool) bool", (value: boolean) => !value);
  define("_==_", "(A, A) bool", equality, "equals");
  define("_!=_", "(A, A) bool", (a: Value, b: Value) => !equal(a, b), "not_equals");
  define("_[_]", "(list<A>, int) A", special, "index_list");
  define("_[_]", "(map<A, B>, A) B", special, "index_map");
  define("@in", "(A, list<A>) bool", (item: Value, list: List) => new ValueSet(list).find(item), "in_list");
  define("@in", "(A, map<A, B>) bool", (key: Value, map: CelMap | CelObject) => {
    const isData = map instanceof CelObject || map.isData;
    if (isData && typeof key !== "string") return new Failure("no such overload");
    const name = keyOf(key);
    if (name === undefined) return false;
    return map instanceof CelMap ? map.entries.has(name) : typeof name === "string" && map.fields.has(name);
  });
  defineArithmetic(define);
  defineOrder(define);
  define("type", "(A) type<A>", (value: Value) => new TypeValue(typeOfValue(value)));
  define("dyn", "(A) dyn", (value: Value) => value, "to_dyn");
  const size = (call: (value: never) => Value, type: string): void => {
    define("size", `(${type}) int`, call);
    define("size", `${type}.() int`, call);
  };
  size((value: Uint8Array) => BigInt(value.length), "bytes");
  size((value: List) => BigInt(value.items.length), "list<A>");
  size(
    (value: CelMap | CelObject) => BigInt(value instanceof CelMap ? value.entries.size : value.fields.size),
    "map<A, B>",
  );
  size((value: string) => {
    visitText(value);
    return BigInt(codePoints(value));
  }, "string");
}

function defineArithmetic(define: Define): void {
  define("_+_", "(bytes, bytes) bytes", (a: Uint8Array, b: Uint8Array) => Buffer.concat([a, b]), "add_bytes");
  define("_+_", "(double, double) double", (a: number, b: number) => a + b);
  define("_+_", "(duration, duration) duration", (a: Duration, b: Duration) => duration(a.nanos + b.nanos));
  define("_+_", "(duration, timestamp) timestamp", (a: Duration, b: Timestamp) => timestamp(a.nanos + b.nanos));
  define("_+_", "(timestamp, duration) timestamp", (a: Timestamp, b: Duration) => timestamp(a.nanos + b.nanos));
  define("_+_", "(int, int) int", (a: bigint, b: bigint) => int(a + b));
  define("_+_", "(list<A>, list<A>) list<A>", addLists, "add_list");
  define("_+_", "(string, string) string", addTexts, "add_string");
  define("_+_", "(uint, uint) uint", (a: Uint, b: Uint) => uint(a.value + b.value));
  define("_/_", "(double, double) double", (a: number, b: number) => a / b);
  define("_/_", "(int, int) int", (a: bigint, b: bigint) => (b === 0n ? new Failure("division by zero") : int(a / b)));
  define("_/_", "(uint, uint) uint", (a: Uint, b: Uint) =>
    b.value === 0n ? new Failure("division by zero") : uint(a.value / b.value),
  );
  define("_%_", "(int, int) int", (a: bigint, b: bigint) => (b === 0n ? new Failure("modulus by zero") : int(a % b)));
  define("_%_", "(uint, uint) uint", (a: Uint, b: Uint) =>
    b.value === 0n ? new Failure("modulus by zero") : uint(a.value % b.value),
  );
  define("_*_", "(double, double) double", (a: number, b: number) => a * b);
  define("_*_", "(int, int) int", (a: bigint, b: bigint) => int(a * b));
  define("_*_", "(uint, uint) uint", (a: Uint, b: Uint) => uint(a.value * b.value));
  define("-_", "(double) double", (a: number) => -a);
  define("-_", "(int) int", (a: bigint) => int(-a));
  define("_-_", "(double, double) double", (a: number, b: number) => a - b);
  define("_-_", "(duration, duration) duration", (a: Duration, b: Duration) => duration(a.nanos - b.nanos));
  define("_-_", "(int, int) int", (a: bigint, b: bigint) => int(a - b));
  define("_-_", "(timestamp, duration) timestamp", (a: Timestamp, b: Duration) => timestamp(a.nanos - b.nanos));
  define("_-_", "(timestamp, timestamp) duration", (a: Timestamp, b: Timestamp) => duration(a.nanos - b.nanos));
  define("_-_", "(uint, uint) uint", (a: Uint, b: Uint) => uint(a.value - b.value));
}

function addTexts(a: string, b: string): string | Failure {
  return boundedLength(a.length + b.length) ?? a + b;
}

/** Adds to a list of the data as Kubernetes does: sets have no duplicates, items of maps replace those of their key. */
function addLists(a: List, b: List): List | Failure {
  const failure = boundedLength(a.items.length + b.items.length);
  if (failure !== undefined) return failure;
  if (!a.isData) {
    if (a.items.length === 0) return b;
    return b.items.length === 0 ? a : new List([...a.items, ...b.items], "atomic", [], false, [a, b]);
  }
  if (a.kind === "atomic") return new List([...a.items, ...b.items], "atomic", [], true);
  if (a.kind === "set") {
    const known = new ValueSet(a);
    return new List([...a.items, ...b.items.filter((item) => !known.has(item))], "set", [], true);
  }
  const items = new Map(a.items.map((item) => [identity(item, a.keys), item]));
  for (const item of b.items) items.set(identity(item, a.keys), item);
  return new List([...items.values()], "map", a.keys, true);
}

const NUMBERS = ["int", "uint", "double"];

function defineOrder(define: Define): void {
  const order = (signature: string, compare: (a: never, b: never) => number, id?: string): void => {
    const on = (name: string, holds: (order: number) => boolean): void =>
      define(name, signature, (a: never, b: never) => holds(compare(a, b)), id && `${name} ${id}`);
    on("_<_", (result) => result < 0);
    on("_<=_", (result) => result <= 0);
    on("_>_", (result) => result > 0);
    on("_>=_", (result) => result >= 0);
  };
  order("(bool, bool) bool", (a: boolean, b: boolean) => Number(a) - Number(b));
  for (const a of NUMBERS) {
    for (const b of NUMBERS) order(`(${a}, ${b}) bool`, (left: Numeric, right: Numeric) => compareNumbers(left, right));
  }
  order("(string, string) bool", compareTexts, "string");
  order("(bytes, bytes) bool", (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b), "bytes");
  const nanos = (a: Duration | Timestamp, b: Duration | Timestamp): number => compareNumbers(a.nanos, b.nanos);
  order("(timestamp, timestamp) bool", nanos);
  order("(duration, duration) bool", nanos);
}

/** Compares texts by their UTF-8. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    if (a.charCodeAt(at) === b.charCodeAt(at)) continue;
    return Buffer.compare(Buffer.from(a.slice(at)), Buffer.from(b.slice(at)));
  }
  return a.length - b.length;
}
