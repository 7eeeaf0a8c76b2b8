import { CelMap, CelObject, Failure, keyOf, List, Optional, type Value } from "../values/value.ts";
import { NO_OVERLOAD, type Step } from "./step.ts";

/** Reads an item of a list or a value of a map: `a[b]`, `a[?b]` and `a.?b`. */
export function access(operand: Step, index: Step, isOptional: boolean, cost: number): Step {
  return (frame) => {
    const value = operand(frame);
    if (value instanceof Failure) return value;
    const key = index(frame);
    if (key instanceof Failure) return key;
    frame.budget.add(cost);
    const isChained = value instanceof Optional;
    const container = isChained ? value.value : value;
    if (container === undefined) return value;
    const found = itemOf(container, key);
    if (isOptional || isChained) return found === undefined ? Optional.NONE : wrapped(found);
    return found ?? missing(found, container, key);
  };
}

function wrapped(value: Value): Value {
  return value instanceof Failure ? value : new Optional(value);
}

/** The item of a list, or the value of a key. Undefined if there is none. */
function itemOf(container: Value, key: Value): Value | undefined {
  if (container instanceof List) {
    const index = keyOf(key);
    if (typeof index !== "bigint") return new Failure("unsupported index type");
    return index < 0n ? undefined : container.items[Number(index)];
  }
  if (container instanceof CelMap) {
    const name = keyOf(key);
    return name === undefined ? undefined : container.entries.get(name);
  }
  if (container instanceof CelObject) return typeof key === "string" ? container.fields.get(key) : undefined;
  return NO_OVERLOAD;
}

function missing(found: Value | undefined, container: Value, key: Value): Value {
  if (found === null) return null;
  if (container instanceof List) return new Failure("index out of bounds");
  return noSuchKey(key);
}

function noSuchKey(key: Value): Failure {
  return typeof key === "string" ? new MissingKey(key) : new Failure("no such key");
}

/** A field or key is missing. */
export class MissingKey extends Failure {
  /** The key, which can be a value of the data. */
  readonly key: string;

  constructor(key: string) {
    super("no such key");
    this.key = key;
  }
}

export function fieldOf(value: Value, field: string): Value {
  if (value instanceof Optional) {
    if (value.value === undefined) return value;
    const inner = itemOf(value.value, field);
    return inner === undefined ? Optional.NONE : wrapped(inner);
  }
  if (!(value instanceof CelMap) && !(value instanceof CelObject)) return NO_OVERLOAD;
  const found = itemOf(value, field);
  return found === undefined ? noSuchKey(field) : found;
}

/** Whether a field is present. */
export function has(value: Value, field: string): Value {
  if (value instanceof Optional) return value.value === undefined ? false : has(value.value, field);
  if (!(value instanceof CelMap) && !(value instanceof CelObject)) return NO_OVERLOAD;
  return itemOf(value, field) !== undefined;
}

/** The keys and values of a list or map. */
export function pairsOf(range: Value): Iterable<readonly [Value, Value]> | Failure {
  if (range instanceof Failure) return range;
  if (range instanceof List) return listPairs(range.items);
  if (range instanceof CelMap) return mapPairs(range);
  if (range instanceof CelObject) return mapPairs(new CelMap(range.fields));
  return NO_OVERLOAD;
}

function* listPairs(items: readonly Value[]): Generator<readonly [Value, Value]> {
  for (const [index, item] of items.entries()) yield [BigInt(index), item];
}

function* mapPairs({ entries }: CelMap): Generator<readonly [Value, Value]> {
  for (const key of entries.keys()) yield [key, entries.get(key) ?? null];
}
