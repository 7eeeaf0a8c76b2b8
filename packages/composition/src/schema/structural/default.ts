import type { JsonObject, JsonValue } from "@xfn/functionio";
import { emptyObject, isObject, MAX_VALUE_DEPTH } from "../../values/json.ts";
import { nodeOfField, type SchemaNode } from "./node.ts";

/**
 * A value with the defaults of its schema, as an API server fills them in: absent fields get theirs, and so do fields
 * that are null though their schema is not nullable; without a default such a null is dropped. The value is not changed;
 * parts without a schema are shared with it.
 */
export function applySchemaDefaults(node: SchemaNode, value: JsonValue): JsonValue {
  return filled(node, value, 0);
}

function filled(node: SchemaNode, value: JsonValue, depth: number): JsonValue {
  // Deeper than any document that a parser accepts; such a value fails validation.
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
  const result = emptyObject();
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
