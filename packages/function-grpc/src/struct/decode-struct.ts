import { type JsonObject, type JsonValue, MAX_DEPTH } from "@xfn/functionio";
import { StructError } from "../errors/struct-error.ts";
import { ENTRY, LIST, VALUE } from "./tags.ts";

/** Bounds on a message. */
export interface StructLimits {
  /** Default {@link MAX_VALUES}. */
  readonly maxValues?: number;
}

/** Two bytes of a message can be a value that takes 50 in memory: this is some hundreds of megabytes at most. */
export const MAX_VALUES = 4_000_000;

/** Shorter strings are read character by character, which costs less than a call into the runtime. */
const SHORT_STRING = 16;

/**
 * Decodes a `google.protobuf.Struct`. Its objects have no prototype: `__proto__` is a key like any other.
 *
 * @throws {StructError} every code but `NotJson` for a string
 */
export function decodeStruct(bytes: Uint8Array, limits: StructLimits = {}): JsonObject {
  return new StructDecoder(bytes, limits.maxValues ?? MAX_VALUES).object(bytes.length, 1);
}

class StructDecoder {
  readonly #bytes: Buffer;
  #at = 0;
  #valuesLeft: number;

  constructor(bytes: Uint8Array, maxValues: number) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#valuesLeft = maxValues;
  }

  object(end: number, depth: number): JsonObject {
    if (depth > MAX_DEPTH) throw new StructError("TooDeep", `the message is nested deeper than ${MAX_DEPTH} levels`);
    const object: JsonObject = {};
    while (this.#at < end) {
      if (this.#tag(end) !== ENTRY.field) throw malformed("an unknown field in an object");
      this.#entry(object, this.#endOf(end), depth);
    }
    return Object.setPrototypeOf(object, null) as JsonObject;
  }

  #entry(object: JsonObject, end: number, depth: number): void {
    let key = "";
    let value: JsonValue | undefined;
    while (this.#at < end) {
      const tag = this.#tag(end);
      if (tag === ENTRY.key) key = this.#string(end);
      else if (tag === ENTRY.value) value = this.#value(this.#endOf(end), depth);
      else throw malformed("an unknown field in an entry");
    }
    if (Object.hasOwn(object, key))
      throw new StructError("DuplicateKey", `the key ${JSON.stringify(key)} is there twice`);
    if (value === undefined) throw new StructError("NotJson", `the key ${JSON.stringify(key)} has no value`);
    if (key === "__proto__")
      Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true });
    else object[key] = value;
  }

  #list(end: number, depth: number): JsonValue[] {
    if (depth > MAX_DEPTH) throw new StructError("TooDeep", `the message is nested deeper than ${MAX_DEPTH} levels`);
    const list: JsonValue[] = [];
    while (this.#at < end) {
      if (this.#tag(end) !== LIST.values) throw malformed("an unknown field in a list");
      list.push(this.#value(this.#endOf(end), depth));
    }
    return list;
  }

  #value(end: number, depth: number): JsonValue {
    if (--this.#valuesLeft < 0) throw new StructError("TooManyValues", "the message has too many values");
    let value: JsonValue | undefined;
    // Of several kinds the last one counts, as of every oneof.
    while (this.#at < end) value = this.#kind(this.#tag(end), end, depth);
    if (value === undefined) throw new StructError("NotJson", "a value has no kind");
    return value;
  }

  #kind(tag: number, end: number, depth: number): JsonValue {
    switch (tag) {
      case VALUE.string:
        return this.#string(end);
      case VALUE.number:
        return this.#double(end);
      case VALUE.bool:
        return this.#varint(end) !== 0;
      case VALUE.struct:
        return this.object(this.#endOf(end), depth + 1);
      case VALUE.list:
        return this.#list(this.#endOf(end), depth + 1);
      case VALUE.null:
        this.#varint(end);
        return null;
      default:
        throw malformed("a value of unknown kind");
    }
  }

  #double(end: number): number {
    if (this.#at + 8 > end) throw malformed("a number that ends early");
    const value = this.#bytes.readDoubleLE(this.#at);
    this.#at += 8;
    if (!Number.isFinite(value)) throw new StructError("NotJson", `${value} has no form in JSON`);
    return value;
  }

  #string(limit: number): string {
    const end = this.#endOf(limit);
    const start = this.#at;
    this.#at = end;
    if (end - start <= SHORT_STRING) {
      let text = "";
      let at = start;
      for (; at < end; at++) {
        const byte = this.#bytes[at] ?? 0;
        if (byte > 0x7f) break;
        text += String.fromCharCode(byte);
      }
      if (at === end) return text;
    }
    return this.#bytes.toString("utf8", start, end);
  }

  #tag(end: number): number {
    return this.#varint(end);
  }

  /** Where the message that starts here ends: within the one around it. */
  #endOf(limit: number): number {
    const size = this.#varint(limit);
    const end = this.#at + size;
    if (end > limit) throw malformed("a length that exceeds the message");
    return end;
  }

  #varint(end: number): number {
    const first = this.#at < end ? (this.#bytes[this.#at] ?? 0x80) : 0x80;
    if (first < 0x80) {
      this.#at++;
      return first;
    }
    let value = 0;
    for (let shift = 0; shift < 35 && this.#at < end; shift += 7) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw malformed("a number that does not end");
  }
}

function malformed(what: string): StructError {
  return new StructError("Malformed", `the message is not a google.protobuf.Struct: ${what}`);
}
