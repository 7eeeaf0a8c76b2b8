import { type Digits, roundedDigits, roundedToPlace, shortestDigits } from "./decimal-digits.ts";

/** The verbs of `strconv.FormatFloat`. */
export type FloatVerb = "e" | "E" | "f" | "g" | "G" | "b" | "x" | "X";

/** The precision of the shortest text that reads back as the same double. */
export const SHORTEST = -1;

/**
 * Formats a float64 like Go's `strconv.FormatFloat`. Infinities have a sign, NaN has none.
 *
 * @see https://pkg.go.dev/strconv#FormatFloat
 */
export function formatFloat(value: number, verb: FloatVerb, precision: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  return sign + formatMagnitude(Math.abs(value), verb, precision);
}

function formatMagnitude(value: number, verb: FloatVerb, precision: number): string {
  switch (verb) {
    case "b":
      return binary(value);
    case "x":
      return hexadecimal(value, precision);
    case "X":
      return hexadecimal(value, precision).toUpperCase();
    case "e":
    case "E": {
      const digits = precision < 0 ? shortestDigits(value) : roundedDigits(value, precision + 1);
      return exponential(digits, precision < 0 ? Math.max(digits.text.length - 1, 0) : precision, verb);
    }
    case "f": {
      if (isFixedByToFixed(value, precision)) return value.toFixed(precision);
      const digits = precision < 0 ? shortestDigits(value) : roundedToPlace(value, precision);
      return fixed(digits, precision < 0 ? Math.max(digits.text.length - digits.point, 0) : precision);
    }
    case "g":
    case "G":
      return general(value, precision, verb === "g" ? "e" : "E");
  }
}

/**
 * JavaScript's toFixed differs from Go only if the value is exactly half way between two results: it rounds up, Go to
 * even. Such a value has at most `precision + 1` binary digits after the point.
 */
function isFixedByToFixed(value: number, precision: number): boolean {
  return precision >= 0 && precision <= 100 && value < 1e21 && !Number.isInteger(value * 2 ** (precision + 1));
}

/** The shorter one of the fixed and the exponential form, without trailing zeros. */
function general(value: number, precision: number, letter: "e" | "E"): string {
  const isShortest = precision < 0;
  const digits = isShortest ? shortestDigits(value) : roundedDigits(value, Math.max(precision, 1));
  const count = digits.text.length;
  const wanted = isShortest ? count : Math.max(precision, 1);
  // The exponent at which the exponential form begins. Go's JSON uses 21 instead.
  const limit = isShortest ? 6 : wanted > count && count >= digits.point ? count : wanted;
  const exponent = digits.point - 1;
  if (exponent < -4 || exponent >= limit) return exponential(digits, Math.min(wanted, count) - 1, letter);
  return fixed(digits, Math.max((wanted > digits.point ? count : wanted) - digits.point, 0));
}

function exponential(digits: Digits, precision: number, letter: "e" | "E"): string {
  const lead = digits.text === "" ? "0" : digits.text.slice(0, 1);
  const fraction = precision > 0 ? `.${digits.text.slice(1, precision + 1).padEnd(precision, "0")}` : "";
  const exponent = digits.text === "" ? 0 : digits.point - 1;
  return `${lead}${fraction}${letter}${signed(exponent)}`;
}

/** An exponent of at least two digits. */
function signed(exponent: number): string {
  return (exponent < 0 ? "-" : "+") + Math.abs(exponent).toString().padStart(2, "0");
}

function fixed({ text, point }: Digits, precision: number): string {
  const whole = point > 0 ? text.slice(0, point).padEnd(point, "0") : "0";
  if (precision <= 0) return whole;
  const fraction = point >= 0 ? text.slice(point) : "0".repeat(Math.min(-point, precision)) + text;
  return `${whole}.${fraction.slice(0, precision).padEnd(precision, "0")}`;
}

const MANTISSA_BITS = 52n;
const EXPONENT_BIAS = 1023;

const bits: DataView = new DataView(new ArrayBuffer(8));

/** `value = mantissa * 2^(exponent - 52)`, with the implicit bit. */
function parts(value: number): { mantissa: bigint; exponent: number } {
  bits.setFloat64(0, value);
  const all = bits.getBigUint64(0);
  const biased = Number((all >> MANTISSA_BITS) & 0x7ffn);
  const fraction = all & ((1n << MANTISSA_BITS) - 1n);
  return biased === 0
    ? { mantissa: fraction, exponent: 1 - EXPONENT_BIAS }
    : { mantissa: fraction | (1n << MANTISSA_BITS), exponent: biased - EXPONENT_BIAS };
}

function binary(value: number): string {
  const { mantissa, exponent } = parts(value);
  const power = exponent - Number(MANTISSA_BITS);
  return `${mantissa}p${power >= 0 ? "+" : ""}${power}`;
}

/** The hexadecimal digits after the point of an exact double. */
const EXACT_HEX_DIGITS = 13;

function hexadecimal(value: number, precision: number): string {
  let { mantissa, exponent } = parts(value);
  if (mantissa === 0n) exponent = 0;
  else {
    const leading = mantissa.toString(2).length - 1;
    mantissa <<= MANTISSA_BITS - BigInt(leading);
    exponent -= Number(MANTISSA_BITS) - leading;
  }
  if (precision >= 0 && precision < EXACT_HEX_DIGITS) {
    const dropped = MANTISSA_BITS - BigInt(precision * 4);
    const rest = mantissa & ((1n << dropped) - 1n);
    mantissa >>= dropped;
    const half = 1n << (dropped - 1n);
    if (rest > half || (rest === half && (mantissa & 1n) === 1n)) mantissa++;
    mantissa <<= dropped;
    if (mantissa >> (MANTISSA_BITS + 1n) !== 0n) {
      mantissa >>= 1n;
      exponent++;
    }
  }
  const lead = mantissa >> MANTISSA_BITS;
  const all = (mantissa & ((1n << MANTISSA_BITS) - 1n)).toString(16).padStart(EXACT_HEX_DIGITS, "0");
  const fraction = precision < 0 ? all.replace(/0+$/, "") : all.slice(0, precision).padEnd(precision, "0");
  return `0x${lead}${fraction === "" ? "" : `.${fraction}`}p${signed(exponent)}`;
}
