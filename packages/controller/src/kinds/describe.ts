import { isObject, type JsonObject } from "@xfn/json";
import type { Field } from "./fields.ts";

// Descriptions of schemas that @xfn/composition has: rendering, which loads them there, needs no descriptions.

/** The descriptions of an object's fields, by name. A field that has fields itself has a pair. */
export interface Descriptions {
  readonly [field: string]: string | readonly [description: string, fields: Descriptions];
}

/** A copy of an object's schema with descriptions. Fields of other schemas may be among them. */
export function describe<T extends JsonObject>(schema: T, descriptions: Descriptions): T {
  const { properties, items, additionalProperties } = schema;
  if (isObject(items)) return { ...schema, items: describe(items, descriptions) };
  if (isObject(additionalProperties))
    return { ...schema, additionalProperties: describe(additionalProperties, descriptions) };
  if (!isObject(properties)) return schema;
  const described = Object.entries(properties as Record<string, JsonObject>).map(([name, field]) => {
    const known = Object.hasOwn(descriptions, name) ? descriptions[name] : undefined;
    if (known === undefined) return [name, field] as const;
    const [description, fields] = typeof known === "string" ? [known, {}] : known;
    return [name, { ...describe(field, fields), description }] as const;
  });
  return { ...schema, properties: Object.fromEntries(described) };
}

/** A field with the schema of an object. Its type is not compared with the schema. */
export function described<T>(description: string, schema: JsonObject, descriptions: Descriptions): Field<T> {
  return { openApi: { ...describe(schema, descriptions), description } };
}

/** Descriptions of a reference to an object of a namespace. */
export function referenceTo(kind: string): Descriptions {
  return { namespace: `namespace is the namespace of the ${kind}.`, name: `name is the name of the ${kind}.` };
}
