import { CelMap, Failure, type Key, keyOf, List, type Value } from "../values/value.ts";
import type { Budget } from "./budget.ts";
import { NO_OVERLOAD } from "./step.ts";

/** Adds an item to the list that a macro makes. */
export function append(list: Value, value: Value, budget: Budget): Value {
  if (value instanceof Failure) return value;
  if (!(list instanceof List)) return list instanceof Failure ? list : NO_OVERLOAD;
  budget.add(11);
  (list.items as Value[]).push(value);
  return list;
}

/** Adds an entry to the map that a macro makes. */
export function insertOne(map: Value, key: Value, value: Value, budget: Budget): Value {
  for (const one of [map, key, value]) if (one instanceof Failure) return one;
  budget.add(1);
  return insert(map, key, value);
}

/** Adds the entries of another map to the map that a macro makes. */
export function insertAll(map: Value, added: Value, budget: Budget): Value {
  if (map instanceof Failure) return map;
  if (!(added instanceof CelMap)) return added instanceof Failure ? added : NO_OVERLOAD;
  budget.add(1);
  for (const key of added.entries.keys()) {
    const result = insert(map, key, added.entries.get(key) ?? null);
    if (result instanceof Failure) return result;
  }
  return map;
}

function insert(map: Value, key: Value, value: Value): Value {
  const name = keyOf(key);
  if (!(map instanceof CelMap)) return NO_OVERLOAD;
  if (name === undefined) return new Failure("unsupported key type");
  if (map.entries.has(name)) return new Failure("insert failed: key already exists");
  (map.entries as Map<Key, Value>).set(name, value);
  return map;
}
