import type { JsonObject } from "@xfn/json";
import type { View } from "./view.ts";

// The fields of the controller's own kinds, each with the description that `kubectl explain` prints: it continues the
// name of the field, as in `replicas: int32("is the number of pods.")`.

/** A field, and the type `T` of what `of` reads from it. */
export interface Field<T> {
  /** As in the structural schema of a CRD. */
  readonly openApi: JsonObject;
  /** Never set: carries the type. */
  readonly type?: T;
}

/** Fields by name. A name that ends with `!` is that of a required field. */
export type Fields = Readonly<Record<string, Field<unknown>>>;

/** The type of the values that are read from fields. */
export type ValuesOf<F extends Fields> = View & {
  readonly [K in keyof F as K extends `${infer Name}!` ? Name : K]: F[K] extends Field<infer T> ? T : never;
};

/** The type of an interface with these texts. */
export type Texts<Names extends string> = Readonly<Record<Names, string | undefined>>;

/** Makes a field. @param more further keywords of the schema, such as `default` */
type Describe<T> = (description: string, more?: JsonObject) => Field<T>;

/** A type of fields, from its schema. */
export function fieldType<T>(openApi: JsonObject): Describe<T> {
  return (description, more) => ({ openApi: { ...openApi, description, ...more } });
}

export const text: Describe<string | undefined> = fieldType({ type: "string" });
export const flag: Describe<boolean | undefined> = fieldType({ type: "boolean" });
export const time: Describe<string | undefined> = fieldType({ type: "string", format: "date-time" });
export const integer: Describe<number | undefined> = fieldType({ type: "integer", format: "int64" });
export const int32: Describe<number | undefined> = fieldType({ type: "integer", format: "int32" });
export const count: Describe<number | undefined> = fieldType({ type: "integer", minimum: 0 });
export const texts: Describe<readonly string[]> = fieldType({ type: "array", items: { type: "string" } });
export const textMap: Describe<Readonly<Record<string, string>>> = fieldType({
  type: "object",
  additionalProperties: { type: "string" },
});
/** Fields of built-in kinds, which the API server checks when it receives an object of the kind. */
export const anyFields: Describe<View> = fieldType({ type: "object", "x-kubernetes-preserve-unknown-fields": true });

export function choice<const T extends string>(
  description: string,
  values: readonly T[],
  more?: JsonObject,
): Field<T | undefined> {
  return { openApi: { type: "string", enum: [...values], description, ...more } };
}

/** An object with these fields. */
export function record<F extends Fields>(description: string, fields: F, more?: JsonObject): Field<ValuesOf<F>> {
  return { openApi: { ...schemaOf(fields), description, ...more } };
}

/** A list of objects with these fields. */
export function list<F extends Fields>(
  description: string,
  fields: F,
  more?: JsonObject,
): Field<readonly ValuesOf<F>[]> {
  return { openApi: { type: "array", items: schemaOf(fields), description, ...more } };
}

const plain = (name: string): string => name.replace("!", "");

function named(name: string, openApi: JsonObject): JsonObject {
  const { description } = openApi;
  return typeof description === "string" ? { ...openApi, description: `${name} ${description}` } : openApi;
}

/** The schema of an object with these fields. */
export function schemaOf(fields: Fields): JsonObject {
  const required = Object.keys(fields).flatMap((name) => (name.endsWith("!") ? [name.slice(0, -1)] : []));
  const properties = Object.entries(fields).map(
    ([name, { openApi }]) => [plain(name), named(plain(name), openApi)] as const,
  );
  return { type: "object", ...(required.length > 0 && { required }), properties: Object.fromEntries(properties) };
}
