import { type JsonObject, type JsonValue, MAX_DEPTH } from "@xfn/json";
import { StructError } from "../errors/struct-error.ts";
import { ENTRY, LIST, VALUE } from "./tags.ts";

/** Limits on a message. */
export interface StructLimits {
  /** Default {@link MAX_VALUES}. */
  readonly maxValues?: number;
}

/**
 * Two bytes of a message can encode a value that takes 50 bytes in memory: the limit allows some hundreds of megabytes.
 */
export const MAX_VALUES = 4_000_000;

/** Shorter strings are read character by character, which costs less than a call into the runtime. */
const SHORT_STRING = 16;

/**
 * Decodes a `google.protobuf.Struct`. The objects have no prototype, so `__proto__` is an ordinary key.
 *
 * @throws {StructError} every code but `NotJson` for a string
 */
export function decodeStruct(bytes: Uint8Array, limits: StructLimits = {}): JsonObject {
  return new StructDecoder(bytes, limits.maxValues ?? MAX_VALUES).object(bytes.length, 1);
}

/** Decoding this many bytes takes some milliseconds. */
export const BYTES_PER_TURN: number = 128 * 1024;

/** Pauses in the decoding of a large Struct. */
export interface Turns {
  /** Yields to other work. */
  readonly pause: () => Promise<void>;
  /** The bytes between two pauses. Default {@link BYTES_PER_TURN}. */
  readonly bytes?: number;
}

/**
 * Decodes a Struct as {@link decodeStruct} does, with pauses: an object of 16 MiB with a million keys takes a second.
 *
 * @throws {StructError}
 */
export async function decodeStructInTurns(bytes: Uint8Array, limits: StructLimits, turns: Turns): Promise<JsonObject> {
  return await new StructDecoder(bytes, limits.maxValues ?? MAX_VALUES, turns).objectInTurns(bytes.length, 1);
}

const NO_TURNS: Turns = { pause: async () => undefined };

class StructDecoder {
  readonly #bytes: Buffer;
  readonly #pause: Turns["pause"];
  readonly #bytesPerTurn: number;
  readonly #maxValues: number;
  #at = 0;
  /** The offset at which the turn began. */
  #turn = 0;
  #valuesLeft: number;

  constructor(bytes: Uint8Array, maxValues: number, turns = NO_TURNS) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#maxValues = maxValues;
    this.#valuesLeft = maxValues;
    this.#pause = turns.pause;
    this.#bytesPerTurn = turns.bytes ?? BYTES_PER_TURN;
  }

  object(end: number, depth: number): JsonObject {
    checkDepth(depth);
    const object: JsonObject = {};
    while (this.#at < end) this.#entry(object, this.#field(end), depth);
    return Object.setPrototypeOf(object, null) as JsonObject;
  }

  async objectInTurns(end: number, depth: number): Promise<JsonObject> {
    checkDepth(depth);
    const object: JsonObject = {};
    while (this.#at < end) {
      const entryEnd = this.#field(end);
      if (entryEnd - this.#at < this.#bytesPerTurn) this.#entry(object, entryEnd, depth);
      else await this.#entryInTurns(object, entryEnd, depth);
      if (this.#isTurnOver()) await this.#pause();
    }
    return Object.setPrototypeOf(object, null) as JsonObject;
  }

  async #listInTurns(end: number, depth: number): Promise<JsonValue[]> {
    checkDepth(depth);
    const list: JsonValue[] = [];
    while (this.#at < end) {
      const itemEnd = this.#item(end);
      if (itemEnd - this.#at < this.#bytesPerTurn) list.push(this.#value(itemEnd, depth));
      else list.push(await this.#valueInTurns(itemEnd, depth));
      if (this.#isTurnOver()) await this.#pause();
    }
    return list;
  }

  async #entryInTurns(object: JsonObject, end: number, depth: number): Promise<void> {
    let key = "";
    let value: JsonValue | undefined;
    while (this.#at < end) {
      const tag = this.#tag(end);
      if (tag === ENTRY.value) value = await this.#valueInTurns(this.#endOf(end), depth);
      else key = this.#key(tag, end);
      if (this.#isTurnOver()) await this.#pause();
    }
    put(object, key, value);
  }

  async #valueInTurns(end: number, depth: number): Promise<JsonValue> {
    this.#count();
    let value: JsonValue | undefined;
    while (this.#at < end) {
      const tag = this.#tag(end);
      if (tag === VALUE.struct) value = await this.objectInTurns(this.#endOf(end), depth + 1);
      else if (tag === VALUE.list) value = await this.#listInTurns(this.#endOf(end), depth + 1);
      else value = this.#kind(tag, end, depth);
      if (this.#isTurnOver()) await this.#pause();
    }
    return existing(value);
  }

  #isTurnOver(): boolean {
    if (this.#at - this.#turn < this.#bytesPerTurn) return false;
    this.#turn = this.#at;
    return true;
  }

  #entry(object: JsonObject, end: number, depth: number): void {
    let key = "";
    let value: JsonValue | undefined;
    while (this.#at < end) {
      const tag = this.#tag(end);
      if (tag === ENTRY.value) value = this.#value(this.#endOf(end), depth);
      else key = this.#key(tag, end);
    }
    put(object, key, value);
  }

  #key(tag: number, end: number): string {
    if (tag !== ENTRY.key) throw malformed("an unknown field in an entry");
    return this.#string(end);
  }

  #list(end: number, depth: number): JsonValue[] {
    checkDepth(depth);
    const list: JsonValue[] = [];
    while (this.#at < end) list.push(this.#value(this.#item(end), depth));
    return list;
  }

  #value(end: number, depth: number): JsonValue {
    this.#count();
    let value: JsonValue | undefined;
    // If several kinds are set, the last one counts, as in every oneof.
    while (this.#at < end) value = this.#kind(this.#tag(end), end, depth);
    return existing(value);
  }

  #count(): void {
    if (--this.#valuesLeft >= 0) return;
    throw new StructError("TooManyValues", `it has more than ${this.#maxValues} fields and items; return fewer`);
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

  /** The end of the next entry of an object. */
  #field(end: number): number {
    if (this.#tag(end) !== ENTRY.field) throw malformed("an unknown field in an object");
    return this.#endOf(end);
  }

  /** The end of the next item of a list. */
  #item(end: number): number {
    if (this.#tag(end) !== LIST.values) throw malformed("an unknown field in a list");
    return this.#endOf(end);
  }

  #tag(end: number): number {
    return this.#varint(end);
  }

  /** The end of the message that starts here, which must not exceed `limit`. */
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

function checkDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw new StructError("TooDeep", `the message is nested deeper than ${MAX_DEPTH} levels`);
}

function put(object: JsonObject, key: string, value: JsonValue | undefined): void {
  if (Object.hasOwn(object, key))
    throw new StructError("DuplicateKey", `the key ${JSON.stringify(key)} is there twice`);
  if (value === undefined) throw new StructError("NotJson", `the key ${JSON.stringify(key)} has no value`);
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true });
  else object[key] = value;
}

function existing(value: JsonValue | undefined): JsonValue {
  if (value === undefined) throw new StructError("NotJson", "a value has no kind");
  return value;
}

function malformed(what: string): StructError {
  return new StructError("Malformed", `the message is not a google.protobuf.Struct: ${what}`);
}
