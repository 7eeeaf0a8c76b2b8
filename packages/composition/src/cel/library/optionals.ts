import { CelMap, CelObject, Duration, Failure, List, Optional, Timestamp, Uint, type Value } from "../values/value.ts";
import type { Define } from "./define.ts";

/** Optionals, version 2. The evaluator has `or`, `orValue` and the selections, which do not evaluate all operands. */
export function defineOptionals(define: Define): void {
  const special = (): Value => new Failure("no such overload");
  define("optional.of", "(V) optional<V>", (value: Value) => new Optional(value));
  define("optional.ofNonZeroValue", "(V) optional<V>", (value: Value) =>
    isZero(value) ? Optional.NONE : new Optional(value),
  );
  define("optional.none", "() optional<V>", () => Optional.NONE);
  define("value", "optional<V>.() V", ({ value }: Optional) => value ?? present(value));
  define("hasValue", "optional<V>.() bool", ({ value }: Optional) => value !== undefined);
  define("or", "optional<V>.(optional<V>) optional<V>", special, "optional_or");
  define("orValue", "optional<V>.(V) V", special, "optional_or_value");
  define("_[?_]", "(list<V>, int) optional<V>", special);
  define("_[?_]", "(optional<list<V>>, int) optional<V>", special);
  define("_[?_]", "(map<K, V>, K) optional<V>", special);
  define("_[?_]", "(optional<map<K, V>>, K) optional<V>", special);
  define("_[_]", "(optional<list<V>>, int) optional<V>", special);
  define("_[_]", "(optional<map<K, V>>, K) optional<V>", special);
  const unwrap = ({ items }: List): Value => {
    const values: Value[] = [];
    for (const item of items) {
      if (!(item instanceof Optional)) return new Failure("value is not optional");
      if (item.value !== undefined) values.push(item.value);
    }
    return new List(values);
  };
  define("optional.unwrap", "(list<optional<V>>) list<V>", unwrap);
  define("unwrapOpt", "list<optional<V>>.() list<V>", unwrap);
}

/** A null is a value, but `undefined` means an absent value. */
function present(value: Value | undefined): Value {
  return value === undefined ? new Failure("optional.none() dereference") : value;
}

function isZero(value: Value): boolean {
  if (value === null || value === false || value === 0 || value === 0n || value === "") return true;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Duration) return value.nanos === 0n;
  if (value instanceof Timestamp) return value.nanos === -62_135_596_800_000_000_000n;
  if (value instanceof List) return value.items.length === 0;
  if (value instanceof CelMap) return value.entries.size === 0;
  if (value instanceof CelObject) return value.type === undefined && value.fields.size === 0;
  if (value instanceof Optional) return value.value === undefined;
  return value instanceof Uint8Array && value.length === 0;
}
