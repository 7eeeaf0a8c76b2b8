// Go strings are bytes, JavaScript strings are UTF-16. A byte of invalid UTF-8, 0x80 to 0xFF, becomes a lone surrogate,
// U+DC80 to U+DCFF (Python's "surrogateescape", PEP 383). Go counts each invalid byte as one rune.

import { compareUtf8 } from "../../values/go-json.ts";

const ESCAPE_BASE = 0xdc00;
const FIRST_ESCAPE = 0xdc80;
const LAST_ESCAPE = 0xdcff;

const encoder = new TextEncoder();
// Like Go, keep a byte order mark.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

const REPLACEMENT = "\ufffd";

/** The bytes of a Go string. Other lone surrogates become U+FFFD, as in Go's JSON decoder. */
export function bytesOf(text: string): Uint8Array {
  if (text.isWellFormed()) return encoder.encode(text);
  const bytes = new Uint8Array(text.length * 3);
  let length = 0;
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (isHighOfPair(text, i)) {
      i++;
    } else if (unit >= FIRST_ESCAPE && unit <= LAST_ESCAPE) {
      length += encoder.encodeInto(text.slice(from, i), bytes.subarray(length)).written;
      bytes[length++] = unit - ESCAPE_BASE;
      from = i + 1;
    }
  }
  length += encoder.encodeInto(text.slice(from), bytes.subarray(length)).written;
  return bytes.subarray(0, length);
}

function isHighOfPair(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  if (unit < 0xd800 || unit > 0xdbff) return false;
  const next = text.charCodeAt(index + 1);
  return next >= 0xdc00 && next <= 0xdfff;
}

/** The Go string of some bytes. */
export function textOfBytes(bytes: Uint8Array): string {
  const text = decoder.decode(bytes);
  // The bytes themselves may contain U+FFFD: decode slowly.
  return text.includes(REPLACEMENT) ? decodeEscaping(bytes) : text;
}

function decodeEscaping(bytes: Uint8Array): string {
  const parts: string[] = [];
  let from = 0;
  let i = 0;
  while (i < bytes.length) {
    const size = runeLength(bytes, i);
    if (size > 0) {
      i += size;
      continue;
    }
    if (from < i) parts.push(decoder.decode(bytes.subarray(from, i)));
    parts.push(String.fromCharCode(ESCAPE_BASE + (bytes[i] ?? 0)));
    i++;
    from = i;
  }
  parts.push(decoder.decode(bytes.subarray(from)));
  return parts.join("");
}

/** The length of the UTF-8 sequence at `i`, 0 if there is no valid one (table 3-7 of the Unicode standard). */
function runeLength(bytes: Uint8Array, i: number): number {
  const lead = bytes[i] ?? 0;
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  const second = bytes[i + 1] ?? 0;
  const least = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const most = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return 0;
  for (let k = 2; k < size; k++) if (((bytes[i + k] ?? 0) & 0xc0) !== 0x80) return 0;
  return size;
}

/** Normalizes joined strings: adjacent bytes that form valid UTF-8 become characters. */
export function joined(text: string): string {
  return text.isWellFormed() ? text : textOfBytes(bytesOf(text));
}

/** The number of runes. */
export function runeCount(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length; i++) {
    if (isHighOfPair(text, i)) {
      count--;
      i++;
    }
  }
  return count;
}

/** At most the first `count` runes. */
export function firstRunes(text: string, count: number): string {
  if (text.length <= count) return text;
  let end = 0;
  for (let left = count; left > 0 && end < text.length; left--) end += isHighOfPair(text, end) ? 2 : 1;
  return text.slice(0, end);
}

const SURROGATE = /[\ud800-\udfff]/;

/** An object's keys in the order of their UTF-8 bytes, as in Go. */
export function sortedKeys(object: object): string[] {
  const keys = Object.keys(object).sort();
  // The built-in order differs only for surrogates.
  return keys.some((key) => SURROGATE.test(key)) ? keys.sort(compareUtf8) : keys;
}
