import { isObject, type JsonObject } from "@xfn/json";

/**
 * Descriptions of fields by their path, such as `spec.size`, where lists and maps have no part. Each continues the name
 * of its field. They are apart from the tables of the API, because rendering loads those.
 */
export type Descriptions = Readonly<Record<string, string>>;

/** A copy of an object's schema with descriptions. Some of them may be of fields that other schemas have. */
export function describe<T extends JsonObject>(schema: T, descriptions: Descriptions, path = ""): T {
  const { properties, items, additionalProperties } = schema;
  if (isObject(items)) return { ...schema, items: describe(items, descriptions, path) };
  if (isObject(additionalProperties))
    return { ...schema, additionalProperties: describe(additionalProperties, descriptions, path) };
  return isObject(properties) ? { ...schema, properties: describeFields(properties, descriptions, path) } : schema;
}

/** The same for the fields of an object. @param path of the object, with a dot at its end unless it is the root */
export function describeFields(fields: Readonly<JsonObject>, descriptions: Descriptions, path: string): JsonObject {
  const described: JsonObject = {};
  for (const [name, field] of Object.entries(fields)) {
    const inner = isObject(field) ? describe(field, descriptions, `${path}${name}.`) : field;
    const description = descriptions[`${path}${name}`];
    described[name] =
      isObject(inner) && description !== undefined ? { ...inner, description: `${name} ${description}` } : inner;
  }
  return described;
}
