import { isObject, type JsonObject, type JsonValue } from "@xfn/json";

const STEP = "  ";
const SDK = 'import("@xfn/functionio/sdk")';
const ANY_OBJECT = "{ [key: string]: unknown }";

/** The TypeScript type of an OpenAPI schema of Kubernetes. `indent` is the indentation of the type's first line. */
function schemaType(schema: JsonValue | undefined, indent: string): string {
  if (!isObject(schema)) return "unknown";
  const type = baseType(schema, indent);
  return schema["nullable"] === true && type !== "unknown" && !type.split(" | ").includes("null")
    ? `${type} | null`
    : type;
}

function baseType(schema: JsonObject, indent: string): string {
  const { enum: values } = schema;
  if (Array.isArray(values) && values.length > 0) return literalUnion(values);
  if (schema["x-kubernetes-int-or-string"] === true) return "number | string";
  if (schema["x-kubernetes-embedded-resource"] === true) return `${SDK}.KubernetesObject`;
  switch (schema["type"] ?? (isObject(schema["properties"]) ? "object" : undefined)) {
    case "string":
      return "string";
    // Early Crossplane definitions write `int`.
    case "integer":
    case "int":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array": {
      const item = schemaType(schema["items"], indent);
      return item.includes(" | ") && !item.startsWith("{") ? `(${item})[]` : `${wrapped(item)}[]`;
    }
    case "object":
      return objectType(schema, indent);
    default:
      return "unknown";
  }
}

function wrapped(type: string): string {
  return type.endsWith(" | null") ? `(${type})` : type;
}

function literalUnion(values: readonly JsonValue[]): string {
  const literals = values.map((value) => {
    if (typeof value === "string") return quote(value);
    if (typeof value === "bigint") return "number";
    return typeof value === "object" && value !== null ? "unknown" : String(value);
  });
  return [...new Set(literals)].join(" | ");
}

function objectType(schema: JsonObject, indent: string): string {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const inner = indent + STEP;
  const lines = Object.entries(properties).map(([name, property]) =>
    propertyLine(name, property, required.includes(name), inner),
  );
  const { additionalProperties } = schema;
  if (lines.length === 0) {
    // An object without known fields is a map, with values of any type if the schema names none.
    return isObject(additionalProperties)
      ? `{ [key: string]: ${schemaType(additionalProperties, indent)} }`
      : ANY_OBJECT;
  }
  const open = schema["x-kubernetes-preserve-unknown-fields"] === true || isObject(additionalProperties);
  if (open || additionalProperties === true) lines.push(`${inner}[key: string]: unknown;`);
  return `{\n${lines.join("\n")}\n${indent}}`;
}

/** One field of an object type, with its description. */
export function propertyLine(name: string, schema: JsonValue | undefined, required: boolean, indent: string): string {
  return `${comment(schema, indent)}${indent}${propertyName(name)}${required ? "" : "?"}: ${schemaType(schema, indent)};`;
}

function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name);
}

/** A string literal. JSON escapes every character that could end it; invisible characters are escaped too. */
export function quote(text: string): string {
  return JSON.stringify(text).replace(
    /[\x7f-\x9f\u2028\u2029\ufeff\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/**
 * 40 lines of a description. Kubernetes' longest descriptions have about that many; a hostile one must not fill the
 * file.
 */
const MAX_COMMENT_LINES = 40;

/**
 * A doc comment of a schema's description and default; "" if it has neither. The description comes from another author.
 * It must neither end the comment nor contain control or direction characters.
 */
export function comment(schema: JsonValue | undefined, indent: string): string {
  if (!isObject(schema)) return "";
  const { description, default: preset } = schema;
  const lines = typeof description === "string" ? description.trim().split(/\r\n|[\n\r\u2028\u2029\x85]/) : [];
  if (lines.length > MAX_COMMENT_LINES) lines.splice(MAX_COMMENT_LINES, lines.length, "...");
  if (preset !== undefined && typeof preset !== "object")
    lines.push(`Default: ${typeof preset === "string" ? quote(preset) : preset}.`);
  const safe = lines
    .map((line) =>
      line
        .replace(/[\0-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, " ")
        .replaceAll("*/", "*\\/")
        // A comment can disable checks.
        .replaceAll("@ts-", "@ ts-")
        .trimEnd(),
    )
    .filter((line, index, all) => line !== "" || (index > 0 && index < all.length - 1));
  if (safe.length === 0) return "";
  if (safe.length === 1) return `${indent}/** ${safe[0]} */\n`;
  return `${indent}/**\n${safe.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}
