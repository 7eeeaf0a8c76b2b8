import type { JsonValue } from "@xfn/json";
import { list, map } from "../api-schema/list.ts";
import { type ObjectSchema, object } from "../api-schema/object.ts";
import { ANY, choice, custom, expected, INTEGER, required, text } from "../api-schema/schema.ts";
import type { FieldReader } from "../reader/field-reader.ts";
import { regexpProblem } from "../transform/text/regexp.ts";
import type {
  ConvertTransform,
  MatchPattern,
  MatchTransform,
  MathTransform,
  StringTransform,
  Transform,
} from "./template.ts";

const ANY_TEXT = text();

const PATTERN = object<MatchPattern>(
  {
    type: choice("literal", "regexp"),
    literal: ANY_TEXT,
    regexp: custom<string>(ANY_TEXT.openApi, checkRegexp),
    result: expected(ANY),
  },
  {
    variants: {
      absent: "literal",
      uses: {
        literal: { literal: "the text to match" },
        regexp: { regexp: "the regular expression to match" },
      },
    },
    check(pattern) {
      // A null is a result, too.
      if (Object.hasOwn(pattern.json, "result")) return;
      pattern.warning("Required", "result", "is missing; a Kubernetes API server refuses a pattern without it");
    },
  },
);

const MATCH = object<MatchTransform>(
  {
    patterns: required(list(PATTERN, { minItems: 1 }), "at least one pattern"),
    fallbackValue: ANY,
    fallbackTo: choice("Value", "Input"),
  },
  {
    check(match) {
      if (match.value("fallbackTo") !== "Input" || match.value("fallbackValue") === undefined) return;
      const message = "fails wherever no pattern matches: fallbackTo is Input; remove one of them";
      match.warning("Invalid", "fallbackValue", message);
    },
  },
);

const MATH = object<MathTransform>(
  { type: choice("Multiply", "ClampMin", "ClampMax"), multiply: INTEGER, clampMin: INTEGER, clampMax: INTEGER },
  {
    variants: {
      absent: "Multiply",
      uses: {
        Multiply: { multiply: "an integer" },
        ClampMin: { clampMin: "an integer" },
        ClampMax: { clampMax: "an integer" },
      },
    },
  },
);

const CONVERSIONS = choice("ToUpper", "ToLower", "ToBase64", "FromBase64", "ToJson", "ToSha1", "ToSha256", "ToSha512");

const STRING = object<StringTransform>(
  {
    type: choice("Format", "Convert", "TrimPrefix", "TrimSuffix", "Regexp", "Join", "Replace"),
    fmt: ANY_TEXT,
    convert: CONVERSIONS,
    trim: ANY_TEXT,
    regexp: object<{ match: string; group?: number | bigint }>({
      match: required(custom<string>(text(4096, { minLength: 1 }).openApi, checkRegexp), "a regular expression"),
      group: custom(INTEGER.openApi, (value, owner, field) => {
        const group = owner.integer(field, value);
        if (group !== undefined && group < 0) owner.warning("Invalid", field, "there are no groups below 0");
      }),
    }),
    join: object<{ separator: string }>({ separator: required(ANY_TEXT, "the text between the items") }),
    replace: object<{ search: string; replace?: string }>({
      search: required(text(undefined, { minLength: 1 }), "the text to replace"),
      replace: ANY_TEXT,
    }),
  },
  {
    variants: {
      absent: "Format",
      uses: {
        Format: { fmt: "a format in Go's syntax, such as %s-suffix" },
        Convert: { convert: "one of ToUpper, ToLower, ToBase64, FromBase64, ToJson, ToSha1, ToSha256, ToSha512" },
        TrimPrefix: { trim: "the text to remove" },
        TrimSuffix: { trim: "the text to remove" },
        Regexp: { regexp: "the regular expression, as regexp.match" },
        Join: { join: "the text between the items, as join.separator" },
        Replace: { replace: "the text to replace, as replace.search" },
      },
    },
  },
);

const CONVERT = object<ConvertTransform>(
  {
    toType: required(choice("string", "int", "int64", "bool", "float64", "object", "array")),
    format: choice("none", "quantity", "json"),
  },
  {
    openApi: {
      // The format `json` needs an object or a list.
      anyOf: [
        { properties: { toType: { enum: ["object", "array"] } } },
        { properties: { format: { enum: ["none", "quantity"] } } },
      ],
    },
    check(convert) {
      const toType = convert.value("toType");
      if (convert.value("format") !== "json" || toType === "object" || toType === "array") return;
      convert.notOneOf("format", "json", ["none", "quantity"]);
    },
  },
);

/** One transform: a type, and the configuration of that type. */
export const TRANSFORM: ObjectSchema<Transform> = object<Transform>(
  {
    type: required(choice("map", "match", "math", "string", "convert")),
    map: map(ANY, { minProperties: 1 }),
    match: MATCH,
    math: MATH,
    string: STRING,
    convert: CONVERT,
  },
  {
    variants: {
      uses: {
        map: { map: "the result for each value" },
        match: { match: "the settings of the transform" },
        math: { math: "the settings of the transform" },
        string: { string: "the settings of the transform" },
        convert: { convert: "the settings of the transform" },
      },
      exclusive: true,
    },
    check(transform) {
      const pairs = transform.value("type") === "map" ? transform.object("map") : undefined;
      if (pairs === undefined || Object.keys(pairs.json).length > 0) return;
      // Crossplane reports an empty map at a field that it calls pairs.
      pairs.error("Required", "pairs", "the map is empty; give at least one value and what it becomes");
    },
  },
);

function checkRegexp(value: JsonValue, owner: FieldReader, field: string): void {
  const pattern = owner.string(field, value);
  if (pattern === undefined) return;
  const problem = regexpProblem(pattern);
  if (problem === undefined) return;
  // Crossplane accepts a pattern that only exceeds one of our bounds, so it must not refuse the whole Composition.
  if (problem.isLimit) owner.warning("Invalid", field, `${problem.reason}; every run that gets to it fails`);
  else owner.error("Invalid", field, `${problem.reason} (https://github.com/google/re2/wiki/Syntax)`);
}
