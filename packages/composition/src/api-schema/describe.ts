import { isObject, type JsonObject } from "@xfn/json";

/**
 * The descriptions of an object's fields, by name. A field that has fields itself has a pair. They are apart from the
 * tables of the API, because rendering loads those.
 */
export interface Descriptions {
  readonly [field: string]: string | Described;
}

/** A description, and those of the fields. */
export type Described = readonly [description: string, fields: Descriptions];

/** A copy of an object's schema with descriptions. Fields of other schemas may be among them. */
export function describe<T extends JsonObject>(schema: T, descriptions: Descriptions): T {
  const { properties, items, additionalProperties } = schema;
  if (isObject(items)) return { ...schema, items: describe(items, descriptions) };
  if (isObject(additionalProperties))
    return { ...schema, additionalProperties: describe(additionalProperties, descriptions) };
  return isObject(properties) ? { ...schema, properties: describeFields(properties, descriptions) } : schema;
}

/** The same for the fields of an object. */
export function describeFields(fields: Readonly<JsonObject>, descriptions: Descriptions): JsonObject {
  const described = Object.entries(fields).map(([name, field]) => {
    const known = Object.hasOwn(descriptions, name) ? descriptions[name] : undefined;
    if (known === undefined || !isObject(field)) return [name, field] as const;
    const [description, inner] = typeof known === "string" ? [known, {}] : known;
    return [name, { ...describe(field, inner), description }] as const;
  });
  return Object.fromEntries(described);
}
