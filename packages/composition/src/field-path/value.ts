import { type JsonObject, type JsonValue, newObject } from "@xfn/json";
import { Float64, type GoValue, int64, isInt64 } from "../values/go-value.ts";
import { MAX_VALUE_DEPTH } from "../values/json.ts";
import { FieldPathError } from "./field-path.ts";

/**
 * The most values of one copy. A Kubernetes object has at most some ten thousand. But each patch that copies an object
 * into itself doubles it: forty patches would exhaust the memory.
 */
const MAX_COPIED_VALUES = 1_000_000;

/**
 * Copies a value as if it were printed as JSON and read again, which is how Crossplane writes it: a float64 without a
 * fraction becomes an int64 (`4.0` is 4), a lone surrogate becomes U+FFFD. Objects and lists are copied deeply, so that
 * source and target share nothing that either may change. Objects of the copy have no prototype.
 *
 * @throws {FieldPathError} `InvalidValue`
 */
export function documentValue(value: GoValue): JsonValue {
  if (typeof value === "object" && value !== null && !(value instanceof Float64)) return new Copy().nested(value, 1);
  return scalar(value);
}

function scalar(value: Exclude<GoValue, JsonValue[] | JsonObject>): JsonValue {
  switch (typeof value) {
    case "string":
      // `isWellFormed` only scans. The rare ill-formed string needs a new one.
      return value.isWellFormed() ? value : value.toWellFormed();
    case "number":
      return Number.isSafeInteger(value) ? value + 0 : fromFloat64(value);
    case "bigint":
      return int64(value);
    default:
      return value instanceof Float64 ? fromFloat64(value.value) : value;
  }
}

function fromFloat64(value: number): JsonValue {
  if (!Number.isFinite(value)) throw new FieldPathError("InvalidValue", "NaN and infinite numbers cannot be JSON");
  if (!Number.isInteger(value)) return value;
  if (Number.isSafeInteger(value)) return value + 0;
  // Go prints integral floats below 1e21 in full, in the same digits as JavaScript, and reads them back as integers.
  if (Math.abs(value) >= 1e21) return value;
  const integer = BigInt(String(value));
  return isInt64(integer) ? integer : value;
}

class Copy {
  #left = MAX_COPIED_VALUES;

  nested(value: JsonValue[] | JsonObject, depth: number): JsonValue {
    if (depth > MAX_VALUE_DEPTH) {
      throw new FieldPathError("InvalidValue", `a value is nested deeper than ${MAX_VALUE_DEPTH} levels`);
    }
    if (Array.isArray(value)) {
      this.#count(value.length);
      return value.map((item) => this.#any(item, depth));
    }
    const keys = Object.keys(value);
    this.#count(keys.length);
    const copy = newObject();
    for (const key of keys) {
      copy[key.isWellFormed() ? key : key.toWellFormed()] = this.#any(value[key] as JsonValue, depth);
    }
    return copy;
  }

  #any(value: GoValue, depth: number): JsonValue {
    if (typeof value === "object" && value !== null && !(value instanceof Float64))
      return this.nested(value, depth + 1);
    return scalar(value);
  }

  #count(values: number): void {
    this.#left -= values;
    if (this.#left < 0) {
      throw new FieldPathError("InvalidValue", `a value consists of more than ${MAX_COPIED_VALUES} values`);
    }
  }
}
