import { int64, isInt64 } from "../values/go-value.ts";

// The parsers of Go's strconv, for numbers and booleans that `convert` reads from strings.

/** Longer numbers make big-integer arithmetic slow. */
const MAX_LENGTH = 4096;

const INTEGER = /^[+-]?[0-9]+$/;

/** `strconv.ParseInt(text, 10, 64)`. Undefined if the text is not an int64. */
export function parseInt64(text: string): number | bigint | undefined {
  if (text.length > MAX_LENGTH || !INTEGER.test(text)) return undefined;
  if (text.length <= 15) return Number(text) + 0;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return isInt64(value) ? int64(value) : undefined;
}

/** `strconv.ParseBool`. Undefined if the text is not a boolean. */
export function parseBool(text: string): boolean | undefined {
  switch (text) {
    case "1":
    case "t":
    case "T":
    case "true":
    case "TRUE":
    case "True":
      return true;
    case "0":
    case "f":
    case "F":
    case "false":
    case "FALSE":
    case "False":
      return false;
    default:
      return undefined;
  }
}

const DECIMAL = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?$/i;
const HEXADECIMAL = /^([+-]?)0x(?:([0-9a-f]+)\.?([0-9a-f]*)|\.([0-9a-f]+))p([+-]?[0-9]+)$/i;
const INFINITY = /^([+-]?)inf(?:inity)?$/i;
// Underscores separate digits. A prefix counts as a digit, so an underscore may follow `0x`.
const MISPLACED = /^_|__|_$|[^0-9_]_|_[^0-9_]/;
const MISPLACED_HEX = /__|_$|[^0-9a-f_]_|_[^0-9a-f_]/i;

/** `strconv.ParseFloat(text, 64)`. Undefined if the text is not a number, or too large for a float64. */
export function parseFloat64(text: string): number | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const infinity = INFINITY.exec(text);
  if (infinity !== null) return infinity[1] === "-" ? -Infinity : Infinity;
  if (/^nan$/i.test(text)) return Number.NaN;
  const digits = withoutUnderscores(text);
  if (digits === undefined) return undefined;
  const value = DECIMAL.test(digits) ? Number(digits) : hexFloat(digits);
  return value === undefined || !Number.isFinite(value) ? undefined : value;
}

function withoutUnderscores(text: string): string | undefined {
  if (!text.includes("_")) return text;
  const unsigned = /^[+-]/.test(text) ? text.slice(1) : text;
  const isMisplaced = /^0x/i.test(unsigned) ? MISPLACED_HEX.test(unsigned.slice(2)) : MISPLACED.test(unsigned);
  return isMisplaced ? undefined : text.replaceAll("_", "");
}

function hexFloat(text: string): number | undefined {
  const match = HEXADECIMAL.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = "", fraction = "", only = "", power = "0"] = match;
  const after = fraction + only;
  const mantissa = BigInt(`0x0${whole}${after}`);
  // Like Go, stops reading an exponent's digits once they cannot change the result.
  const exponent = Math.max(-100_000, Math.min(100_000, Number(power))) - 4 * after.length;
  const value = scaled(mantissa, exponent);
  return sign === "-" ? -value : value;
}

/** `mantissa * 2^exponent`, rounded once, half to even. */
function scaled(mantissa: bigint, exponent: number): number {
  if (mantissa === 0n) return 0;
  const bits = mantissa.toString(2).length;
  // The exponent of the last bit of a double of this size.
  const last = Math.max(bits + exponent - 53, -1074);
  const drop = last - exponent;
  let kept = mantissa;
  if (drop > 0) {
    if (drop > bits + 1) return 0;
    const unit = 1n << BigInt(drop);
    const rest = mantissa & (unit - 1n);
    kept = mantissa >> BigInt(drop);
    const half = unit >> 1n;
    if (rest > half || (rest === half && (kept & 1n) === 1n)) kept++;
  }
  const power = Math.max(last, exponent);
  if (power > 1024) return Infinity;
  // Both factors are exact. One factor for 2^-1074 times a large power would be out of range.
  return drop > 0 ? Number(kept) * 2 ** last : Number(kept) * 2 ** exponent;
}
