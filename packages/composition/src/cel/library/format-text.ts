import { formatFloat } from "../../transform/text/go-float.ts";
import { quote } from "../../transform/text/quote.ts";
import { printDuration, printTimestamp } from "../values/time.ts";
import { CelMap, CelObject, Duration, Failure, List, Timestamp, TypeValue, Uint, type Value } from "../values/value.ts";
import { visit } from "../values/visit.ts";
import { boundedLength } from "./bounds.ts";
import { printDouble } from "./conversions.ts";
import { compareTexts } from "./operators.ts";

/** The verbs of a format: text, decimal, fixed point, scientific, binary, hexadecimal and octal. */
export type Verb = "s" | "d" | "f" | "e" | "b" | "x" | "X" | "o";

/** A part of a format: a fixed text, or a verb for the next argument. */
export type FormatPart = string | { readonly verb: Verb; readonly precision: number | undefined };

/** The digits of `%f` and `%e` without a precision. */
const DEFAULT_PRECISION = 6;
/** Doubles have less than 400 digits before the point, and about 1,100 behind. */
const MAX_PRECISION = 1100;

/** Splits a format of `format`. Returns the failure of an invalid one. */
export function partsOfFormat(format: string): FormatPart[] | Failure {
  const parts: FormatPart[] = [];
  let text = "";
  for (let at = 0; at < format.length; at++) {
    if (format[at] !== "%") {
      text += format.charAt(at);
      continue;
    }
    if (format[at + 1] === "%") {
      text += "%";
      at++;
      continue;
    }
    const [clause, digits, verb] = /^%(?:\.(\d*))?([sdfebxXo])/.exec(format.slice(at, at + 24)) ?? [];
    const precision = digits === undefined ? undefined : Number.parseInt(digits, 10);
    if (clause === undefined || Number.isNaN(precision)) return new Failure("could not parse formatting clause");
    if (precision !== undefined && precision > MAX_PRECISION) return new Failure("the precision is too large");
    parts.push(text, { verb: verb as Verb, precision });
    text = "";
    at += clause.length - 1;
  }
  parts.push(text);
  return parts;
}

/** Formats values like `format` of CEL's strings library, version 2. */
export function formatText(format: string, args: readonly Value[]): string | Failure {
  const parts = partsOfFormat(format);
  if (parts instanceof Failure) return parts;
  let next = 0;
  let result = "";
  for (const part of parts) {
    if (typeof part === "string") result += part;
    else {
      const value = args[next++];
      if (value === undefined) return new Failure("index out of range");
      const text = formatted(part.verb, part.precision ?? DEFAULT_PRECISION, value);
      if (text instanceof Failure) return text;
      result += text;
    }
    const failure = boundedLength(result.length);
    if (failure !== undefined) return failure;
  }
  return result;
}

function formatted(verb: Verb, precision: number, value: Value): string | Failure {
  const wrong = new Failure("error during formatting: the clause cannot be used on this type");
  const integer = value instanceof Uint ? value.value : value;
  switch (verb) {
    case "s":
      return printed(value);
    case "d":
      return typeof integer === "bigint" ? integer.toString() : wrong;
    case "f":
    case "e": {
      const double = value === "NaN" || value === "Infinity" || value === "-Infinity" ? Number(value) : value;
      return typeof double === "number" ? float(double, verb, precision) : wrong;
    }
    case "b":
      if (typeof value === "boolean") return value ? "1" : "0";
      return typeof integer === "bigint" ? integer.toString(2) : wrong;
    case "o":
      return typeof integer === "bigint" ? integer.toString(8) : wrong;
    case "x":
    case "X": {
      const text = hexOf(integer);
      if (text === undefined) return wrong;
      return verb === "X" ? text.toUpperCase() : text;
    }
  }
}

function hexOf(value: Value): string | undefined {
  if (typeof value === "bigint") return value.toString(16);
  if (typeof value === "string") return Buffer.from(value).toString("hex");
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : undefined;
}

/** Fixed points group digits, and exponents are written as in English: `1,234.500000`, `1.5 × 10⁶`. */
function float(value: number, verb: "f" | "e", precision: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  const text = formatFloat(value, verb, precision);
  if (verb === "f") return text.replace(/^-?\d+/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ","));
  const [mantissa, exponent = "0"] = text.split("e");
  const sign = exponent.startsWith("-") ? "⁻" : "";
  const digits = exponent.replace(/^[-+]/, "").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹".charAt(Number(digit)));
  return `${mantissa}\u202F×\u202F10${sign}${digits}`;
}

/** A value as `%s` prints it. */
function printed(value: Value): string | Failure {
  if (value === null) return "null";
  if (typeof value === "number") return printDouble(value);
  if (typeof value !== "object") return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (value instanceof Duration) return printDuration(value);
  if (value instanceof Timestamp) return printTimestamp(value);
  if (value instanceof TypeValue) return value.type.name;
  if (value instanceof List) return printedList(value);
  if (value instanceof CelMap) return printedMap(value);
  if (value instanceof CelObject && value.type === undefined) return printedMap(new CelMap(value.fields));
  return new Failure("error during formatting: the clause cannot be used on this type");
}

/** A value within a list or map, as a literal of the language. */
function nested(value: Value): string | Failure {
  if (typeof value === "string") {
    visit(value.length);
    return quote(value, false);
  }
  if (typeof value === "number") {
    return Number.isFinite(value) ? formatFloat(value, "f", DEFAULT_PRECISION) : `"${printDouble(value)}"`;
  }
  const text = printed(value);
  if (text instanceof Failure) return text;
  visit(text.length);
  if (value instanceof Uint8Array) return `b${quote(text, false)}`;
  if (value instanceof Duration) return `duration("${text}")`;
  return value instanceof Timestamp ? `timestamp("${text}")` : text;
}

function printedList({ items }: List): string | Failure {
  const texts: string[] = [];
  for (const item of items) {
    const text = nested(item);
    if (text instanceof Failure) return text;
    texts.push(text);
  }
  return `[${texts.join(", ")}]`;
}

function printedMap({ entries }: CelMap): string | Failure {
  const texts: [key: string, text: string][] = [];
  for (const key of entries.keys()) {
    const name = nested(key);
    const text = nested(entries.get(key) ?? null);
    if (name instanceof Failure) return name;
    if (text instanceof Failure) return text;
    texts.push([name, `${name}:${text}`]);
  }
  texts.sort(([a], [b]) => compareTexts(a, b));
  return `{${texts.map(([, text]) => text).join(", ")}}`;
}
