import type { JsonValue } from "@xfn/json";
import { nativeJson } from "@xfn/json/text";
import { quantityToFloat64 } from "@xfn/units";
import type { ConvertTransform } from "../api/template.ts";
import { asDouble, float64, type GoKind, type GoValue, goKind } from "../values/go-value.ts";
import { isObject, kindOf } from "../values/json.ts";
import type { CompiledTransform } from "./compiled.ts";
import { asFloats } from "./json-values.ts";
import { truncateToInt64 } from "./math.ts";
import { parseBool, parseFloat64, parseInt64 } from "./parse-number.ts";
import { formatFloat, SHORTEST } from "./text/go-float.ts";
import type { Fail } from "./text/transform-error.ts";

const TARGETS: ReadonlyMap<string, GoKind> = new Map([
  ["string", "string"],
  ["bool", "bool"],
  ["int", "int64"],
  ["int64", "int64"],
  ["float64", "float64"],
  ["object", "object"],
  ["array", "array"],
]);

const FORMATS: ReadonlySet<string> = new Set(["none", "quantity", "json"]);

/** Converts between strings, booleans, integers and floats, and parses strings as quantities or JSON. */
export function compileConvert(convert: ConvertTransform, fail: Fail): CompiledTransform {
  const format = convert.format ?? "none";
  if (!FORMATS.has(format)) return () => fail("Config", "convert.format must be none, quantity or json");
  const to = TARGETS.get(convert.toType);
  if (to === undefined)
    return () => fail("Config", "convert.toType must be string, bool, int64, float64, object or array");
  const conversions = CONVERSIONS[`${to} ${format}`];
  return (input) => {
    const from = goKind(input);
    if (from === "null" || from === "array" || from === "object")
      return fail("Input", `${kindOf(input)} cannot be converted`);
    // The format is ignored then.
    if (from === to) return input;
    const conversion = conversions?.[from];
    if (conversion === undefined) return fail("Input", `no conversion from ${from} to ${to} with format ${format}`);
    return conversion(input, fail);
  };
}

type Conversion = (input: GoValue, fail: Fail) => GoValue;
type Conversions = { readonly [from in GoKind]?: Conversion };

/** Conversions by target and format, then by the type of the input. */
const CONVERSIONS: { readonly [target: string]: Conversions } = {
  "string none": {
    int64: (input) => (input as number | bigint).toString(),
    bool: (input) => (input === true ? "true" : "false"),
    float64: (input) => floatText(doubleOf(input)),
  },
  "bool none": {
    string: (input, fail) =>
      parseBool(input as string) ?? fail("Input", "the string is not a boolean (true, false, 1, 0, t, f)"),
    int64: (input) => input === 1,
    float64: (input) => doubleOf(input) === 1,
  },
  "int64 none": {
    string: (input, fail) =>
      parseInt64(input as string) ?? fail("Input", "the string is not a decimal integer of 64 bits"),
    bool: (input) => (input === true ? 1 : 0),
    float64: (input) => truncateToInt64(doubleOf(input)),
  },
  "float64 none": {
    string: (input, fail) => float64(parseFloat64(input as string) ?? fail("Input", "the string is not a number")),
    bool: (input) => float64(input === true ? 1 : 0),
    int64: (input) => float64(doubleOf(input)),
  },
  "float64 quantity": {
    string: (input, fail) =>
      float64(quantityToFloat64(input as string) ?? fail("Input", "the string is not a Kubernetes quantity")),
  },
  "object json": {
    string: (input, fail) => {
      const value = json(input as string, fail);
      return isObject(value) || value === null
        ? value
        : fail("Input", `the string's JSON is ${kindOf(value)}, not an object`);
    },
  },
  "array json": {
    string: (input, fail) => {
      const value = json(input as string, fail);
      return Array.isArray(value) || value === null
        ? value
        : fail("Input", `the string's JSON is ${kindOf(value)}, not a list`);
    },
  },
};

function doubleOf(input: GoValue): number {
  return asDouble(input as number);
}

function floatText(value: number): string {
  return formatFloat(value, "f", SHORTEST);
}

/** Parses JSON like Go's `json.Unmarshal`: the last of duplicate keys wins, numbers are float64. */
function json(text: string, fail: Fail): GoValue {
  let value: JsonValue;
  try {
    value = nativeJson(text) as JsonValue;
  } catch {
    // The message of JSON.parse quotes the text, which may be a secret.
    return fail("Input", "the string is not JSON");
  }
  return asFloats(value, fail);
}
