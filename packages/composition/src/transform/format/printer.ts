import { asDouble, type Float64, type GoValue, goKind } from "../../go-value.ts";
import { isObject, MAX_VALUE_DEPTH } from "../../json.ts";
import { bytesOf, firstRunes, runeCount, sortedKeys } from "../go-string.ts";
import { MAX_TEXT_LENGTH, tooLong } from "../limits.ts";
import type { Fail } from "../transform-error.ts";
import { type FloatVerb, formatFloat, SHORTEST } from "./go-float.ts";
import type { Flags } from "./parse-format.ts";
import { canBackquote, isPrintable, isValidRune, quote, quoteRune } from "./quote.ts";

/** How the current directive prints. */
export interface Style extends Flags {
  width: number | undefined;
  precision: number | undefined;
}

/** No flags, no sizes. */
export const PLAIN: Style = {
  minus: false,
  plus: false,
  sharp: false,
  space: false,
  zero: false,
  sharpV: false,
  width: undefined,
  precision: undefined,
};

/** The name that Go prints for a value's type. */
export function typeName(value: GoValue): string {
  const kind = goKind(value);
  if (kind === "object") return "map[string]interface {}";
  if (kind === "array") return "[]interface {}";
  return kind === "null" ? "<nil>" : kind;
}

/**
 * Prints values as Go's fmt package does, one text for a whole format.
 *
 * @see https://pkg.go.dev/fmt
 */
export class Printer {
  readonly #fail: Fail;
  #out = "";
  #style: Style = PLAIN;

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  /** What has been printed. */
  get text(): string {
    return this.#out;
  }

  /** Writes a text as it is. */
  write(text: string): void {
    this.#out += text;
    if (this.#out.length > MAX_TEXT_LENGTH) tooLong(this.#fail);
  }

  /** Prints one argument. */
  print(value: GoValue, verb: string, style: Style): void {
    this.#style = style;
    this.#argument(value, verb);
  }

  #argument(value: GoValue, verb: string): void {
    if (value === null) {
      if (verb === "T" || verb === "v") this.#pad("<nil>");
      else this.write(`%!${verb}(<nil>)`);
    } else if (verb === "T") this.#string(typeName(value));
    else if (typeof value === "object" && goKind(value) !== "float64") this.#container(value, verb);
    else if (verb === "p") this.#badVerb(value, verb);
    else this.#value(value, verb, 0);
  }

  #container(value: GoValue, verb: string): void {
    if (verb === "p") this.#fail("Config", "fmt: %p prints an address in memory, which is another one in every run");
    if (verb === "w") this.#badVerb(value, verb);
    else this.#value(value, verb, 0);
  }

  #badVerb(value: GoValue, verb: string): void {
    this.write(`%!${verb}(${typeName(value)}=`);
    this.#argument(value, "v");
    this.write(")");
  }

  #value(value: GoValue, verb: string, depth: number): void {
    if (depth > MAX_VALUE_DEPTH) this.#fail("Limit", `the value is nested deeper than ${MAX_VALUE_DEPTH} levels`);
    if (typeof value === "string") this.#text(value, verb);
    else if (typeof value === "boolean") {
      if (verb === "t" || verb === "v") this.#pad(value ? "true" : "false");
      else this.#badVerb(value, verb);
    } else if (value === null) this.write(this.#style.sharpV ? "interface {}(nil)" : "<nil>");
    else if (Array.isArray(value)) this.#array(value, verb, depth);
    else if (isObject(value)) this.#object(value, verb, depth);
    else if (goKind(value) === "int64") this.#integer(value as number | bigint, verb);
    else this.#float(value, verb);
  }

  #array(value: readonly GoValue[], verb: string, depth: number): void {
    const { sharpV } = this.#style;
    this.write(sharpV ? "[]interface {}{" : "[");
    for (const [i, item] of value.entries()) {
      if (i > 0) this.write(sharpV ? ", " : " ");
      this.#value(item, verb, depth + 1);
    }
    this.write(sharpV ? "}" : "]");
  }

  #object(value: { readonly [key: string]: GoValue }, verb: string, depth: number): void {
    const { sharpV } = this.#style;
    this.write(sharpV ? "map[string]interface {}{" : "map[");
    for (const [i, key] of sortedKeys(value).entries()) {
      if (i > 0) this.write(sharpV ? ", " : " ");
      this.#text(key, verb);
      this.write(":");
      this.#value(value[key] ?? null, verb, depth + 1);
    }
    this.write(sharpV ? "}" : "]");
  }

  // --- strings

  #text(value: string, verb: string): void {
    switch (verb) {
      case "v":
        if (this.#style.sharpV) this.#quoted(value);
        else this.#string(value);
        break;
      case "s":
        this.#string(value);
        break;
      case "q":
        this.#quoted(value);
        break;
      case "x":
      case "X":
        this.#hex(value, verb === "X");
        break;
      default:
        this.#badVerb(value, verb);
    }
  }

  #truncated(value: string): string {
    const { precision } = this.#style;
    return precision === undefined ? value : firstRunes(value, precision);
  }

  #string(value: string): void {
    this.#pad(this.#truncated(value));
  }

  #quoted(value: string): void {
    const text = this.#truncated(value);
    if (this.#style.sharp && canBackquote(text)) this.#pad(`\`${text}\``);
    else this.#pad(quote(text, this.#style.plus));
  }

  #hex(value: string, isUpper: boolean): void {
    const { precision, space, sharp, width = 0, minus } = this.#style;
    const all = bytesOf(value);
    const bytes = precision !== undefined && precision < all.length ? all.subarray(0, precision) : all;
    if (bytes.length === 0) {
      this.#padding(width);
      return;
    }
    if (bytes.length > MAX_TEXT_LENGTH) tooLong(this.#fail);
    const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"));
    const prefix = sharp ? "0x" : "";
    const lower = prefix + digits.join(space ? ` ${prefix}` : "");
    const text = isUpper ? lower.toUpperCase() : lower;
    if (!minus) this.#padding(width - text.length);
    this.write(text);
    if (minus) this.#padding(width - text.length);
  }

  // --- integers

  #integer(value: number | bigint, verb: string): void {
    switch (verb) {
      case "v":
      case "d":
        this.#inBase(value, 10, verb);
        break;
      case "b":
        this.#inBase(value, 2, verb);
        break;
      case "o":
      case "O":
        this.#inBase(value, 8, verb);
        break;
      case "x":
      case "X":
        this.#inBase(value, 16, verb);
        break;
      case "c":
        this.#pad(String.fromCodePoint(runeOf(value)));
        break;
      case "q":
        this.#pad(quoteRune(runeOf(value), this.#style.plus));
        break;
      case "U":
        this.#unicode(value);
        break;
      default:
        this.#badVerb(value, verb);
    }
  }

  #inBase(value: number | bigint, base: number, verb: string): void {
    const { precision, zero, minus, plus, space, sharp, width } = this.#style;
    const isNegative = value < 0;
    let digits = (isNegative ? -value : value).toString(base);
    if (verb === "X") digits = digits.toUpperCase();
    let least = 0;
    if (precision !== undefined) {
      if (precision === 0 && digits === "0") {
        this.#spaces(width ?? 0);
        return;
      }
      least = precision;
    } else if (zero && !minus && width !== undefined) {
      least = isNegative || plus || space ? width - 1 : width;
    }
    if (least > MAX_TEXT_LENGTH) tooLong(this.#fail);
    digits = digits.padStart(least, "0");
    if (sharp) digits = basePrefix(base, verb, digits) + digits;
    if (verb === "O") digits = `0o${digits}`;
    const sign = isNegative ? "-" : plus ? "+" : space ? " " : "";
    this.#padWithSpaces(sign + digits);
  }

  #unicode(value: number | bigint): void {
    const { precision = 0, sharp } = this.#style;
    if (precision > MAX_TEXT_LENGTH) tooLong(this.#fail);
    const unsigned = value < 0 ? BigInt.asUintN(64, BigInt(value)) : value;
    const digits = unsigned.toString(16).toUpperCase().padStart(Math.max(precision, 4), "0");
    const code = Number(unsigned);
    const character = sharp && isValidRune(code) && isPrintable(code) ? ` '${String.fromCodePoint(code)}'` : "";
    this.#padWithSpaces(`U+${digits}${character}`);
  }

  // --- floats

  #float(value: number | bigint | Float64, verb: string): void {
    const double = asDouble(value);
    switch (verb) {
      case "v":
        this.#number(double, "g", SHORTEST);
        break;
      case "b":
      case "g":
      case "G":
      case "x":
      case "X":
        this.#number(double, verb, SHORTEST);
        break;
      case "f":
      case "e":
      case "E":
        this.#number(double, verb, 6);
        break;
      case "F":
        this.#number(double, "f", 6);
        break;
      default:
        this.#badVerb(value, verb);
    }
  }

  #number(value: number, format: FloatVerb, defaultPrecision: number): void {
    const { plus, space, sharp, zero, minus, width } = this.#style;
    const precision = this.#style.precision ?? defaultPrecision;
    if (precision > MAX_TEXT_LENGTH) tooLong(this.#fail);
    const text = formatFloat(value, format, precision);
    const hasSign = text.startsWith("-") || text.startsWith("+");
    let sign = hasSign ? text.slice(0, 1) : "+";
    let digits = hasSign ? text.slice(1) : text;
    if (space && sign === "+" && !plus) sign = " ";
    if (!Number.isFinite(value)) {
      const isSignShown = !Number.isNaN(value) || space || plus;
      this.#padWithSpaces(isSignShown ? sign + digits : digits);
      return;
    }
    if (sharp && format !== "b") digits = withPoint(digits, format, precision);
    if (!plus && sign === "+") {
      this.#pad(digits);
    } else if (zero && !minus && width !== undefined && width > digits.length + 1) {
      this.write(sign);
      this.#padding(width - digits.length - 1);
      this.write(digits);
    } else {
      this.#pad(sign + digits);
    }
  }

  // --- padding

  #pad(text: string): void {
    const { width, minus } = this.#style;
    if (width === undefined || width === 0) {
      this.write(text);
      return;
    }
    const missing = width - runeCount(text);
    if (!minus) this.#padding(missing);
    this.write(text);
    if (minus) this.#padding(missing);
  }

  #padWithSpaces(text: string): void {
    const { width, minus } = this.#style;
    const missing = (width ?? 0) - runeCount(text);
    if (!minus) this.#spaces(missing);
    this.write(text);
    if (minus) this.#spaces(missing);
  }

  #padding(count: number): void {
    if (this.#style.zero && !this.#style.minus) this.#repeated("0", count);
    else this.#spaces(count);
  }

  #spaces(count: number): void {
    this.#repeated(" ", count);
  }

  #repeated(character: string, count: number): void {
    if (count <= 0) return;
    if (count > MAX_TEXT_LENGTH) tooLong(this.#fail);
    this.write(character.repeat(count));
  }
}

function runeOf(value: number | bigint): number {
  const code = value < 0 || value > 0x10ffff ? -1 : Number(value);
  return isValidRune(code) ? code : 0xfffd;
}

function basePrefix(base: number, verb: string, digits: string): string {
  if (base === 2) return "0b";
  if (base === 16) return verb === "X" ? "0X" : "0x";
  return base === 8 && !digits.startsWith("0") ? "0" : "";
}

/** The `#` flag on floats: always a point, and for %g no zeros cut off. */
function withPoint(text: string, format: FloatVerb, precision: number): string {
  const isHex = format === "x" || format === "X";
  let missing = 0;
  if (format === "g" || format === "G" || format === "x") missing = precision === SHORTEST ? 6 : precision;
  const tailAt = text.search(isHex ? /[pP]/ : /[eE]/);
  let mantissa = tailAt < 0 ? text : text.slice(0, tailAt);
  const tail = tailAt < 0 ? "" : text.slice(tailAt);
  // Every character but the point counts from the first that is not a zero on: in a hexadecimal number the x is the first.
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
