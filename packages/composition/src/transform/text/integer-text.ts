import { MAX_TEXT_LENGTH, tooLong } from "./limits.ts";
import { isPrintable, isValidRune } from "./quote.ts";
import type { Style } from "./style.ts";
import type { Fail } from "./transform-error.ts";

// Integers as Go's fmt prints them, without the width.

/** Formats an integer in base 2, 8, 10 or 16. */
export function integerText(value: number | bigint, base: number, verb: string, style: Style, fail: Fail): string {
  const { precision, zero, minus, plus, space, sharp, width } = style;
  const isNegative = value < 0;
  let digits = (isNegative ? -value : value).toString(base);
  if (verb === "X") digits = digits.toUpperCase();
  if (precision !== undefined) {
    if (precision === 0 && digits === "0") return "";
    digits = zeroFilled(digits, precision, fail);
  } else if (zero && !minus && width !== undefined) {
    digits = zeroFilled(digits, isNegative || plus || space ? width - 1 : width, fail);
  }
  if (sharp) digits = basePrefix(base, verb, digits) + digits;
  if (verb === "O") digits = `0o${digits}`;
  const sign = isNegative ? "-" : plus ? "+" : space ? " " : "";
  return sign + digits;
}

/** `%U`: U+0041, with `#` the character too. */
export function unicodeText(value: number | bigint, { precision = 0, sharp }: Style, fail: Fail): string {
  const unsigned = value < 0 ? BigInt.asUintN(64, BigInt(value)) : value;
  const digits = zeroFilled(unsigned.toString(16).toUpperCase(), Math.max(precision, 4), fail);
  const code = Number(unsigned);
  const character = sharp && isValidRune(code) && isPrintable(code) ? ` '${String.fromCodePoint(code)}'` : "";
  return `U+${digits}${character}`;
}

/** The character with a number, or U+FFFD. */
export function runeOf(value: number | bigint): number {
  const code = value < 0 || value > 0x10ffff ? -1 : Number(value);
  return isValidRune(code) ? code : 0xfffd;
}

function basePrefix(base: number, verb: string, digits: string): string {
  if (base === 2) return "0b";
  if (base === 16) return verb === "X" ? "0X" : "0x";
  return base === 8 && !digits.startsWith("0") ? "0" : "";
}

function zeroFilled(digits: string, length: number, fail: Fail): string {
  return length > MAX_TEXT_LENGTH ? tooLong(fail) : digits.padStart(length, "0");
}
