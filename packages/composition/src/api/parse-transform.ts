import type { FieldReader } from "../reader/field-reader.ts";
import { lazyRegexp } from "../transform/text/regexp.ts";
import { failureOf, TransformError } from "../transform/text/transform-error.ts";

/** Checks the transforms of a patch. */
export function checkTransforms(patch: FieldReader): void {
  for (const transform of patch.objects("transforms")) checkTransform(transform);
}

function checkTransform(transform: FieldReader): void {
  const type = transform.string("type");
  switch (type) {
    case "math":
      return checkConfig(transform, type, checkMath);
    case "map":
      return checkMap(transform);
    case "match":
      return checkConfig(transform, type, checkMatch);
    case "string":
      return checkConfig(transform, type, checkString);
    case "convert":
      return checkConfig(transform, type, checkConvert);
    default:
      notOneOf(transform, "type", type, ["map", "match", "math", "string", "convert"]);
  }
}

function checkConfig(transform: FieldReader, type: string, check: (config: FieldReader) => void): void {
  const config = transform.object(type);
  transform.required(type, config, "what the transform does");
  if (config === undefined) return;
  check(config);
  config.warnUnknown();
  transform.warnUnknown();
}

function checkMath(math: FieldReader): void {
  const type = math.string("type") || "Multiply";
  const field = { Multiply: "multiply", ClampMin: "clampMin", ClampMax: "clampMax" }[type];
  if (field === undefined) return notOneOf(math, "type", type, ["Multiply", "ClampMin", "ClampMax"]);
  math.required(field, math.integer(field), "an integer");
  for (const other of ["multiply", "clampMin", "clampMax"]) math.value(other);
}

function checkMap(transform: FieldReader): void {
  const map = transform.object("map");
  transform.required("map", map, "what each value becomes");
  if (map !== undefined && Object.keys(map.json).length === 0) {
    map.error("Required", "pairs", "the map is empty; give at least one value and what it becomes");
  }
  transform.warnUnknown();
}

function checkMatch(match: FieldReader): void {
  const patterns = match.objects("patterns");
  if (patterns.length === 0 && match.value("patterns") === undefined) {
    match.error("Required", "patterns", "is missing; give at least one pattern");
  } else if (Array.isArray(match.value("patterns")) && (match.value("patterns") as unknown[]).length === 0) {
    match.error("Required", "patterns", "is empty; give at least one pattern");
  }
  for (const pattern of patterns) checkPattern(pattern);
  const fallbackTo = match.oneOf("fallbackTo", ["Value", "Input"]);
  if (fallbackTo === "Input" && match.value("fallbackValue") !== undefined) {
    match.warning(
      "Invalid",
      "fallbackValue",
      "fails wherever no pattern matches: fallbackTo is Input; remove one of them",
    );
  }
  match.value("fallbackValue");
}

function checkPattern(pattern: FieldReader): void {
  const type = pattern.string("type") || "literal";
  if (type === "literal") pattern.required("literal", pattern.string("literal"), "the text to match");
  else if (type === "regexp") {
    const regexp = pattern.required("regexp", pattern.string("regexp"), "the regular expression to match");
    if (regexp !== undefined) checkRegexp(pattern, "regexp", regexp);
  } else return notOneOf(pattern, "type", type, ["literal", "regexp"]);
  if (!Object.hasOwn(pattern.json, "result")) {
    pattern.warning("Required", "result", "is missing; a Kubernetes API server refuses a pattern without it");
  }
  for (const field of ["literal", "regexp", "result"]) pattern.value(field);
  pattern.warnUnknown();
}

const CONVERSIONS = [
  "ToUpper",
  "ToLower",
  "ToBase64",
  "FromBase64",
  "ToJson",
  "ToSha1",
  "ToSha256",
  "ToSha512",
] as const;

function checkString(string: FieldReader): void {
  const type = string.string("type") || "Format";
  switch (type) {
    case "Format":
      string.required("fmt", string.string("fmt"), "a format in Go's syntax, such as %s-suffix");
      break;
    case "Convert":
      string.required("convert", string.oneOf("convert", CONVERSIONS), `one of ${CONVERSIONS.join(", ")}`);
      break;
    case "TrimPrefix":
    case "TrimSuffix":
      string.required("trim", string.string("trim"), "the text to remove");
      break;
    case "Regexp":
      checkStringRegexp(string);
      break;
    case "Join": {
      const join = string.required("join", string.object("join"), "what to put between the items, as join.separator");
      join?.required("separator", join.string("separator"), "what to put between the items");
      join?.warnUnknown();
      break;
    }
    default:
      return notOneOf(string, "type", type, ["Format", "Convert", "TrimPrefix", "TrimSuffix", "Regexp", "Join"]);
  }
  for (const field of ["fmt", "convert", "trim", "regexp", "join"]) string.value(field);
}

function checkStringRegexp(string: FieldReader): void {
  const regexp = string.required("regexp", string.object("regexp"), "the regular expression, as regexp.match");
  if (regexp === undefined) return;
  const match = regexp.text("match", "a regular expression");
  if (match !== undefined) checkRegexp(regexp, "match", match);
  const group = regexp.integer("group");
  if (group !== undefined && group < 0) regexp.warning("Invalid", "group", "there are no groups below 0");
  regexp.warnUnknown();
}

function checkConvert(convert: FieldReader): void {
  const format = convert.string("format") ?? "none";
  const toType = convert.string("toType") ?? "";
  const toJson = toType === "object" || toType === "array";
  if (format !== "none" && format !== "quantity" && !(format === "json" && toJson)) {
    return notOneOf(convert, "format", format, toJson ? ["none", "quantity", "json"] : ["none", "quantity"]);
  }
  if (!toJson && !["string", "int", "int64", "bool", "float64"].includes(toType)) {
    notOneOf(convert, "toType", toType, ["string", "int", "int64", "bool", "float64", "object", "array"]);
  }
}

function checkRegexp(reader: FieldReader, field: string, pattern: string): void {
  try {
    lazyRegexp(pattern, failureOf(undefined, field))();
  } catch (error) {
    if (!(error instanceof TransformError)) throw error;
    reader.error("Invalid", field, "is not a regular expression of RE2 (https://github.com/google/re2/wiki/Syntax)");
  }
}

function notOneOf(reader: FieldReader, field: string, value: string | undefined, choices: readonly string[]): void {
  if (value !== undefined) return reader.notOneOf(field, value, choices);
  // A field of another type than text was already reported as such.
  if (reader.value(field) === undefined)
    reader.error("Invalid", field, `is missing; give one of ${choices.join(", ")}`);
}
