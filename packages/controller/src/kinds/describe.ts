import { type Descriptions, describe } from "@xfn/composition/definition";
import type { JsonObject } from "@xfn/json";
import type { Field } from "./fields.ts";

/** A field with the schema of an object. Its type is not compared with the schema. */
export function described<T>(description: string, schema: JsonObject, descriptions: Descriptions): Field<T> {
  return { openApi: { ...describe(schema, descriptions), description } };
}

/** The description of a field, and those of the fields in it by their path there. */
export function within(field: string, description: string, inner: Descriptions): Descriptions {
  const paths = Object.entries(inner).map(([path, text]) => [`${field}.${path}`, text] as const);
  return { [field]: description, ...Object.fromEntries(paths) };
}

/** Descriptions of a reference to an object of a namespace. */
export function referenceTo(kind: string): Descriptions {
  return { namespace: `is the namespace of the ${kind}.`, name: `is the name of the ${kind}.` };
}
