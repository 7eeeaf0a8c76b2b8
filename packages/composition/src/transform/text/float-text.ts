import { type FloatVerb, formatFloat, SHORTEST } from "./go-float.ts";

/** The parts of a float that Go's fmt prints. The sign is "+" even if it is not shown. */
export interface FloatText {
  sign: string;
  digits: string;
}

/** Formats a float, with the `#` flag if `sharp`. */
export function floatText(value: number, format: FloatVerb, precision: number, sharp: boolean): FloatText {
  const text = formatFloat(value, format, precision);
  const hasSign = text.startsWith("-") || text.startsWith("+");
  const digits = hasSign ? text.slice(1) : text;
  return {
    sign: hasSign ? text.slice(0, 1) : "+",
    digits: sharp && format !== "b" && Number.isFinite(value) ? withPoint(digits, format, precision) : digits,
  };
}

/** The `#` flag on floats: always a point, and for %g all trailing zeros. */
function withPoint(text: string, format: FloatVerb, precision: number): string {
  const isHex = format === "x" || format === "X";
  let missing = 0;
  if (format === "g" || format === "G" || format === "x") missing = precision === SHORTEST ? 6 : precision;
  const tailAt = text.search(isHex ? /[pP]/ : /[eE]/);
  let mantissa = tailAt < 0 ? text : text.slice(0, tailAt);
  const tail = tailAt < 0 ? "" : text.slice(tailAt);
  // Counts all characters from the first one other than 0, except the point. A hexadecimal number counts from its x.
  let hasSeenNonZero = false;
  for (const character of mantissa) {
    if (character === ".") continue;
    if (character !== "0") hasSeenNonZero = true;
    if (hasSeenNonZero) missing--;
  }
  if (!mantissa.includes(".")) {
    if (mantissa === "0") missing--;
    mantissa += ".";
  }
  return mantissa + "0".repeat(Math.max(missing, 0)) + tail;
}
