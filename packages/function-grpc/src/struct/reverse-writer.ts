import { StructError } from "../errors/struct-error.ts";

const FIRST_SIZE = 1024;
/** Shorter strings are copied character by character, which costs less than a call into the runtime. */
const SHORT_STRING = 32;

/** Writes protobuf from the end of a message to its start, into a buffer that grows. */
export class ReverseWriter {
  #buffer = Buffer.allocUnsafe(FIRST_SIZE);
  /** The offset of the first written byte. */
  #start = FIRST_SIZE;

  /** Bytes written so far. */
  get length(): number {
    return this.#buffer.length - this.#start;
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(this.#start);
  }

  byte(value: number): void {
    if (this.#start === 0) this.#grow(1);
    this.#buffer[--this.#start] = value;
  }

  double(value: number): void {
    if (this.#start < 8) this.#grow(8);
    this.#start -= 8;
    this.#buffer.writeDoubleLE(value, this.#start);
  }

  /** Writes a string's bytes and their length. */
  string(text: string): void {
    const end = this.length;
    if (text.length > SHORT_STRING || !this.#shortAscii(text)) this.#text(text);
    this.#varint(this.length - end);
  }

  /** Writes a tag and the length of everything written since the length was `end`. */
  prefix(tag: number, end: number): void {
    this.#varint(this.length - end);
    this.byte(tag);
  }

  #shortAscii(text: string): boolean {
    const { length } = text;
    if (this.#start < length) this.#grow(length);
    const at = this.#start - length;
    for (let index = 0; index < length; index++) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) return false;
      this.#buffer[at + index] = code;
    }
    this.#start = at;
    return true;
  }

  #text(text: string): void {
    if (!text.isWellFormed()) throw new StructError("NotJson", "a string has half of a surrogate pair");
    const size = Buffer.byteLength(text);
    if (this.#start < size) this.#grow(size);
    this.#start -= size;
    this.#buffer.write(text, this.#start, size);
  }

  #varint(value: number): void {
    if (value < 0x80) return this.byte(value);
    let size = 1;
    for (let rest = value >>> 7; rest > 0; rest >>>= 7) size++;
    if (this.#start < size) this.#grow(size);
    this.#start -= size;
    let at = this.#start;
    for (let rest = value; ; rest >>>= 7) {
      this.#buffer[at++] = rest > 0x7f ? (rest & 0x7f) | 0x80 : rest;
      if (rest <= 0x7f) return;
    }
  }

  #grow(needed: number): void {
    const { length } = this;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, length + needed));
    this.#buffer.copy(larger, larger.length - length, this.#start);
    this.#start = larger.length - length;
    this.#buffer = larger;
  }
}
