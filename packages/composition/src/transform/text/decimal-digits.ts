/** A decimal number `0.text * 10^point` without trailing zeros. Zero has no digits. */
export interface Digits {
  text: string;
  point: number;
}

const ZERO: Digits = { text: "", point: 0 };

/** The fewest digits that read back as the same double. The value must be finite and not negative. */
export function shortestDigits(value: number): Digits {
  if (value === 0) return ZERO;
  const text = value.toString();
  const e = text.indexOf("e");
  return place(e < 0 ? text : text.slice(0, e), e < 0 ? 0 : Number(text.slice(e + 1)));
}

function place(decimal: string, exponent: number): Digits {
  const dot = decimal.indexOf(".");
  const whole = dot < 0 ? decimal : decimal.slice(0, dot);
  return trim(dot < 0 ? whole : whole + decimal.slice(dot + 1), whole.length + exponent);
}

function trim(digits: string, point: number): Digits {
  let start = 0;
  while (digits.charCodeAt(start) === 48) start++;
  let end = digits.length;
  while (end > start && digits.charCodeAt(end - 1) === 48) end--;
  return start === end ? ZERO : { text: digits.slice(start, end), point: point - start };
}

/** `count` significant digits, the exact value rounded half to even (JavaScript's toPrecision rounds halves up). */
export function roundedDigits(value: number, count: number): Digits {
  const exact = exactDigits(value);
  return round(exact, count);
}

/** The exact value rounded half to even to `places` digits after the point. */
export function roundedToPlace(value: number, places: number): Digits {
  const exact = exactDigits(value);
  return round(exact, exact.point + places);
}

function round(exact: Digits, count: number): Digits {
  const { text, point } = exact;
  if (count >= text.length) return exact;
  if (count < 0) return ZERO;
  const next = text.charCodeAt(count) - 48;
  const isOdd = count > 0 && text.charCodeAt(count - 1) % 2 === 1;
  const isUp = next > 5 || (next === 5 && (text.length > count + 1 || isOdd));
  const kept = text.slice(0, count);
  if (!isUp) return trim(kept, point);
  const raised = (BigInt(`0${kept}`) + 1n).toString();
  return trim(raised, point + raised.length - count);
}

const bits: DataView = new DataView(new ArrayBuffer(8));

/** All digits of the double, which has up to 767. */
function exactDigits(value: number): Digits {
  if (value === 0) return ZERO;
  // A double prints integers up to 2^53 exactly.
  if (Number.isSafeInteger(value)) return shortestDigits(value);
  bits.setFloat64(0, value);
  const all = bits.getBigUint64(0);
  const biased = Number((all >> 52n) & 0x7ffn);
  const fraction = all & ((1n << 52n) - 1n);
  let mantissa = biased === 0 ? fraction : fraction | (1n << 52n);
  let exponent = Math.max(biased, 1) - 1075;
  while ((mantissa & 1n) === 0n) {
    mantissa >>= 1n;
    exponent++;
  }
  if (exponent >= 0) {
    const text = (mantissa << BigInt(exponent)).toString();
    return trim(text, text.length);
  }
  // m / 2^k = m * 5^k / 10^k
  const text = (mantissa * 5n ** BigInt(-exponent)).toString();
  return trim(text, text.length + exponent);
}
