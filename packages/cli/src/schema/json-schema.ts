import { isObject, type JsonObject, type JsonValue } from "@xfn/json";

/** The definition of an object of any known kind, within another object. */
export const EMBEDDED = "embedded";

/** Keywords that mean the same in OpenAPI schemas of Kubernetes and in JSON Schema. */
const KEPT = [
  "description",
  "default",
  "minimum",
  "maximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
];

/**
 * The JSON Schema (draft 7) of a structural OpenAPI schema. Unknown fields are errors where an API server would drop
 * them. CEL rules have no equivalent.
 *
 * @param complete whether the object has all its fields. Patches add fields to a base.
 */
export function jsonSchema(schema: JsonValue | undefined, complete: boolean): JsonObject {
  if (!isObject(schema)) return {};
  if (schema["x-kubernetes-embedded-resource"] === true) return { allOf: [reference(EMBEDDED)] };
  const result: JsonObject = {};
  for (const keyword of KEPT) if (schema[keyword] !== undefined) result[keyword] = schema[keyword];
  exclusive(schema, result, "minimum", "exclusiveMinimum");
  exclusive(schema, result, "maximum", "exclusiveMaximum");
  const { pattern, enum: values, nullable } = schema;
  if (typeof pattern === "string" && isPattern(pattern)) result["pattern"] = pattern;
  if (Array.isArray(values)) result["enum"] = nullable === true && !values.includes(null) ? [...values, null] : values;
  const types = [...typesOf(schema), ...(nullable === true ? ["null"] : [])];
  const [only = "null", ...others] = types;
  if (only !== "null") result["type"] = others.length === 0 ? only : types;
  if (schema["items"] !== undefined) result["items"] = jsonSchema(schema["items"], complete);
  addProperties(schema, result, complete);
  // Without required fields, alternatives of them cannot be distinguished.
  if (!complete) return result;
  if (Array.isArray(schema["required"])) result["required"] = schema["required"];
  for (const keyword of ["allOf", "anyOf", "oneOf"]) {
    const given = schema[keyword];
    if (Array.isArray(given)) result[keyword] = given.map((one) => open(jsonSchema(one, true)));
  }
  if (schema["not"] !== undefined) result["not"] = open(jsonSchema(schema["not"], true));
  return result;
}

export function reference(definition: string): JsonObject {
  return { $ref: `#/definitions/${definition}` };
}

function typesOf(schema: JsonObject): readonly string[] {
  if (schema["x-kubernetes-int-or-string"] === true) return ["integer", "number", "string"];
  return typeof schema["type"] === "string" ? [schema["type"]] : [];
}

function addProperties(schema: JsonObject, result: JsonObject, complete: boolean): void {
  const { properties, additionalProperties } = schema;
  if (isObject(properties))
    result["properties"] = Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, jsonSchema(property, complete)]),
    );
  if (isObject(additionalProperties)) result["additionalProperties"] = jsonSchema(additionalProperties, complete);
  else if (isObject(properties) && additionalProperties !== true) {
    if (schema["x-kubernetes-preserve-unknown-fields"] !== true) result["additionalProperties"] = false;
  }
}

/** An alternative knows only some fields of the object. */
function open(schema: JsonObject): JsonObject {
  const { additionalProperties, properties, ...others } = schema;
  const opened: JsonObject = { ...others };
  if (isObject(additionalProperties)) opened["additionalProperties"] = additionalProperties;
  if (isObject(properties))
    opened["properties"] = Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, isObject(property) ? open(property) : property]),
    );
  return opened;
}

/** In OpenAPI 3.0 the keyword is a flag of the bound, in JSON Schema the bound itself. */
function exclusive(schema: JsonObject, result: JsonObject, bound: string, keyword: string): void {
  if (schema[keyword] !== true || result[bound] === undefined) return;
  result[keyword] = result[bound];
  delete result[bound];
}

/** Patterns are Go's: JavaScript does not have all of them. */
function isPattern(pattern: string): boolean {
  try {
    RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}
