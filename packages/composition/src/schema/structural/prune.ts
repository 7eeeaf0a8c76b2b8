import { type JsonObject, type JsonPath, type JsonValue, newObject } from "@xfn/json";
import { isObject, MAX_VALUE_DEPTH } from "../../values/json.ts";
import type { SchemaNode } from "./node.ts";

/** A value without undeclared fields, as an API server stores it. */
export interface Pruned {
  /** The value without unknown fields. It shares unchanged parts with the argument. */
  value: JsonValue;
  /** The dropped fields, in the order of the value. */
  unknown: JsonPath[];
}

// The fields of every object. The schema does not apply to their content.
const META_FIELDS: readonly string[] = ["apiVersion", "kind", "metadata"];

/**
 * Drops the fields of a resource that its schema does not declare.
 *
 * @param node - the schema of the whole resource
 */
export function pruneUnknown(node: SchemaNode, value: JsonValue): Pruned {
  const unknown: JsonPath[] = [];
  const path: (string | number)[] = [];
  const root = { ...node, embedded: true };
  return { value: pruned(root, value, root.preserveUnknown, path, unknown), unknown };
}

/** `keep`: retain unknown fields of this level. */
function pruned(
  node: SchemaNode | undefined,
  value: JsonValue,
  keep: boolean,
  path: (string | number)[],
  unknown: JsonPath[],
): JsonValue {
  if (path.length >= MAX_VALUE_DEPTH) return value;
  if (Array.isArray(value)) {
    const items = node?.items;
    if (keep && items === undefined) return value;
    return value.map((item, index) => {
      path.push(index);
      // If unknown fields of a list are retained, so are those of its items.
      const result = pruned(items, item, keep || items?.preserveUnknown === true, path, unknown);
      path.pop();
      return result;
    });
  }
  if (!isObject(value)) return value;
  return prunedObject(node, value, keep, path, unknown);
}

function prunedObject(
  node: SchemaNode | undefined,
  value: JsonObject,
  keep: boolean,
  path: (string | number)[],
  unknown: JsonPath[],
): JsonObject {
  const result = newObject();
  for (const field of Object.keys(value)) {
    const given = value[field] as JsonValue;
    if (node?.embedded === true && META_FIELDS.includes(field)) {
      result[field] = given;
      continue;
    }
    path.push(field);
    const property = node?.properties.get(field);
    const additional = node?.additional;
    if (property !== undefined || additional !== undefined) {
      // `additionalProperties: true` declares no fields below it.
      const schema = property ?? (typeof additional === "object" ? additional : undefined);
      result[field] = pruned(schema, given, schema?.preserveUnknown === true, path, unknown);
    } else if (keep) result[field] = given;
    else unknown.push([...path]);
    path.pop();
  }
  return result;
}
