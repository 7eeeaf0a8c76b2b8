import { type JsonObject, type JsonValue, newObject } from "@xfn/json";
import { isObject, MAX_VALUE_DEPTH } from "../../values/json.ts";
import { nodeOfField, type SchemaNode } from "./node.ts";

/**
 * Fills in the defaults of a schema like an API server: for absent fields, and for nulls that the schema does not
 * allow. Drops such a null if there is no default. The argument is not changed. The result shares parts that have no
 * schema with the argument.
 */
export function applySchemaDefaults(node: SchemaNode, value: JsonValue): JsonValue {
  return filled(node, value, 0);
}

function filled(node: SchemaNode, value: JsonValue, depth: number): JsonValue {
  // No parser accepts a deeper document. Such a value fails validation.
  if (depth >= MAX_VALUE_DEPTH) return value;
  if (Array.isArray(value)) {
    const { items } = node;
    if (items === undefined) return value;
    return value.map((item) => {
      const given = item === null && !items.nullable ? (items.default ?? null) : item;
      return filled(items, given, depth + 1);
    });
  }
  return isObject(value) ? filledObject(node, value, depth) : value;
}

function filledObject(node: SchemaNode, value: JsonObject, depth: number): JsonObject {
  const result = newObject();
  for (const field of Object.keys(value)) {
    const given = value[field] as JsonValue;
    const schema = nodeOfField(node, field);
    if (schema === undefined) result[field] = given;
    else if (given !== null || schema.nullable) result[field] = filled(schema, given, depth + 1);
    else if (schema.default !== undefined) result[field] = filled(schema, schema.default, depth + 1);
  }
  for (const [field, schema] of node.properties) {
    if (schema.default === undefined || Object.hasOwn(result, field)) continue;
    result[field] = filled(schema, schema.default, depth + 1);
  }
  return result;
}
