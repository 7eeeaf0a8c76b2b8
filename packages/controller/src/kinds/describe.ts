import { type Descriptions, describe } from "@xfn/composition/definition";
import type { JsonObject } from "@xfn/json";
import type { Field } from "./fields.ts";

/** A field with the schema of an object. Its type is not compared with the schema. */
export function described<T>(description: string, schema: JsonObject, descriptions: Descriptions): Field<T> {
  return { openApi: { ...describe(schema, descriptions), description } };
}

/** Descriptions of a reference to an object of a namespace. */
export function referenceTo(kind: string): Descriptions {
  return { namespace: `namespace is the namespace of the ${kind}.`, name: `name is the name of the ${kind}.` };
}
