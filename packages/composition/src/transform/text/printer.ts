import { asDouble, type Float64, type GoValue, goKind } from "../../values/go-value.ts";
import { isObject, MAX_VALUE_DEPTH } from "../../values/json.ts";
import { floatText } from "./float-text.ts";
import { type FloatVerb, SHORTEST } from "./go-float.ts";
import { bytesOf, firstRunes, runeCount, sortedKeys } from "./go-string.ts";
import { integerText, runeOf, unicodeText } from "./integer-text.ts";
import { MAX_TEXT_LENGTH, tooLong } from "./limits.ts";
import { canBackquote, quote, quoteRune } from "./quote.ts";
import { PLAIN, type Style } from "./style.ts";
import type { Fail } from "./transform-error.ts";

/** Go's name of a value's type. */
export function typeName(value: GoValue): string {
  const kind = goKind(value);
  if (kind === "object") return "map[string]interface {}";
  if (kind === "array") return "[]interface {}";
  return kind === "null" ? "<nil>" : kind;
}

/**
 * Prints values like Go's package fmt. One printer makes the text of one format.
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

  /** The text so far. */
  get text(): string {
    return this.#out;
  }

  /** Appends a text. */
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
    if (bytes.length > MAX_TEXT_LENGTH / 2) tooLong(this.#fail);
    const digits = Buffer.from(bytes).toString("hex");
    const prefix = sharp ? "0x" : "";
    const lower = prefix + (space ? digits.replaceAll(/..(?=.)/g, `$& ${prefix}`) : digits);
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
        this.#padWithSpaces(integerText(value, 10, verb, this.#style, this.#fail));
        break;
      case "b":
        this.#padWithSpaces(integerText(value, 2, verb, this.#style, this.#fail));
        break;
      case "o":
      case "O":
        this.#padWithSpaces(integerText(value, 8, verb, this.#style, this.#fail));
        break;
      case "x":
      case "X":
        this.#padWithSpaces(integerText(value, 16, verb, this.#style, this.#fail));
        break;
      case "c":
        this.#pad(String.fromCodePoint(runeOf(value)));
        break;
      case "q":
        this.#pad(quoteRune(runeOf(value), this.#style.plus));
        break;
      case "U":
        this.#padWithSpaces(unicodeText(value, this.#style, this.#fail));
        break;
      default:
        this.#badVerb(value, verb);
    }
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
    const { sign: shown, digits } = floatText(value, format, precision, sharp);
    const sign = space && shown === "+" && !plus ? " " : shown;
    if (!Number.isFinite(value)) {
      const isSignShown = !Number.isNaN(value) || space || plus;
      this.#padWithSpaces(isSignShown ? sign + digits : digits);
      return;
    }
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
