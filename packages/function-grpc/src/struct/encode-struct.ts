import { isObject, type JsonObject, type JsonPath, type JsonValue, MAX_DEPTH } from "@xfn/json";
import { StructError } from "../errors/struct-error.ts";
import { ReverseWriter } from "./reverse-writer.ts";
import { ENTRY, LIST, VALUE } from "./tags.ts";

/** The bytes of a Struct, and the paths of rounded integers. */
export interface EncodedStruct {
  readonly bytes: Uint8Array;
  /** Paths of integers beyond 2^53: a Struct has only doubles. */
  readonly rounded: readonly JsonPath[];
}

/**
 * Encodes an object as `google.protobuf.Struct`
 * (https://protobuf.dev/reference/protobuf/google.protobuf/#struct). Keys keep their order.
 *
 * @throws {StructError} `NotJson`, `TooDeep` (more than {@link MAX_DEPTH} levels)
 */
export function encodeStruct(object: JsonObject): EncodedStruct {
  const encoder = new StructEncoder();
  encoder.object(object, 1);
  return { bytes: encoder.bytes(), rounded: encoder.rounds ? integersBeyondDoubles(object, []) : [] };
}

// A message's length precedes it but is known only after it is written: the encoder writes from the end to the start.
class StructEncoder {
  readonly #writer = new ReverseWriter();
  /** Whether an integer was rounded. */
  rounds = false;

  bytes(): Uint8Array {
    return this.#writer.bytes();
  }

  object(object: JsonObject, depth: number): void {
    if (depth > MAX_DEPTH) throw new StructError("TooDeep", `the object is nested deeper than ${MAX_DEPTH} levels`);
    const writer = this.#writer;
    const keys = Object.keys(object);
    for (let index = keys.length - 1; index >= 0; index--) {
      const key = keys[index] ?? "";
      const end = writer.length;
      this.#value(object[key] ?? null, depth);
      writer.prefix(ENTRY.value, end);
      writer.string(key);
      writer.byte(ENTRY.key);
      writer.prefix(ENTRY.field, end);
    }
  }

  #list(list: readonly JsonValue[], depth: number): void {
    if (depth > MAX_DEPTH) throw new StructError("TooDeep", `the object is nested deeper than ${MAX_DEPTH} levels`);
    for (let index = list.length - 1; index >= 0; index--) {
      const end = this.#writer.length;
      this.#value(list[index] ?? null, depth);
      this.#writer.prefix(LIST.values, end);
    }
  }

  #value(value: JsonValue, depth: number): void {
    const writer = this.#writer;
    switch (typeof value) {
      case "string":
        writer.string(value);
        return writer.byte(VALUE.string);
      case "number":
        if (!Number.isFinite(value)) throw new StructError("NotJson", `${value} has no form in JSON`);
        writer.double(value);
        return writer.byte(VALUE.number);
      case "bigint":
        this.rounds = true;
        writer.double(Number(value));
        return writer.byte(VALUE.number);
      case "boolean":
        writer.byte(value ? 1 : 0);
        return writer.byte(VALUE.bool);
      default:
        return this.#composite(value, depth);
    }
  }

  #composite(value: null | JsonValue[] | JsonObject, depth: number): void {
    const writer = this.#writer;
    if (value === null) {
      writer.byte(0);
      return writer.byte(VALUE.null);
    }
    const end = writer.length;
    if (Array.isArray(value)) {
      this.#list(value, depth + 1);
      return writer.prefix(VALUE.list, end);
    }
    this.object(value, depth + 1);
    return writer.prefix(VALUE.struct, end);
  }
}

// Walks the object a second time, which is rarely necessary: hardly any object has such an integer.
function integersBeyondDoubles(value: JsonValue, path: JsonPath): JsonPath[] {
  if (typeof value === "bigint") return [path];
  if (Array.isArray(value)) return value.flatMap((item, index) => integersBeyondDoubles(item, [...path, index]));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => integersBeyondDoubles(item, [...path, key]));
}
