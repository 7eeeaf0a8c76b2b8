import type { JsonObject, JsonValue } from "@xfn/json";
import type { FindingCode } from "../reader/composition-error.ts";
import { FieldReader, type Findings } from "../reader/field-reader.ts";
import {
  type CheckPresence,
  custom,
  type FieldSchema,
  name,
  type RequiredField,
  type Rule,
  required,
  type Schema,
} from "./schema.ts";

/** Every field of `T` with its schema: optional ones as it is, others as `required` or `expected`. */
export type Fields<T> = {
  readonly [K in keyof T as string extends K ? never : number extends K ? never : K]-?: object extends Pick<T, K>
    ? Schema<Exclude<T[K], undefined>>
    : RequiredField<T[K]>;
};

/** The structural schema of an object. */
export interface ObjectOpenApi extends JsonObject {
  properties: JsonObject;
}

/** The schema of an object. Lists use `checkObject` to check their items. */
export interface ObjectSchema<T> extends Schema<T> {
  readonly openApi: ObjectOpenApi;
  checkObject(reader: FieldReader): void;
}

/** Rules and checks of an object as a whole. */
export interface ObjectOptions {
  /** Rules about several fields, for an API server. */
  rules?: readonly Rule[];
  /** Checks fields against each other, for files. Runs after the checks of the fields. */
  check?: (reader: FieldReader) => void;
  /** Replaces the warning about an unknown field. */
  onUnknown?: (reader: FieldReader, field: string) => void;
  /**
   * The fields depend on the field `type`. Without rules, the schema lists the fields that each type needs, as
   * alternatives.
   */
  variants?: Variants;
  /** Further keywords of the schema for an API server. */
  openApi?: JsonObject;
}

/** Objects whose fields depend on their `type`. Fields not listed in any variant apply to all variants. */
export interface Variants {
  /** The type of an object that gives none, or an empty one. */
  readonly absent?: string;
  /** The fields of each type, with descriptions of their values for messages; {@link OPTIONAL} for optional fields. */
  readonly uses: Readonly<Record<string, Readonly<Record<string, string | typeof OPTIONAL>>>>;
  /** Types that are reported with their own code and message. */
  readonly refused?: Readonly<Record<string, { readonly code: FindingCode; readonly message: string }>>;
  /** Reports fields of other types as unknown. Otherwise they are ignored. */
  readonly exclusive?: true;
}

/** Marks a field that a variant can have but does not need. */
export const OPTIONAL: unique symbol = Symbol("optional");

/** A field of any type, with its name. */
interface Entry {
  readonly field: string;
  readonly schema: FieldSchema;
  readonly checkPresence: CheckPresence | undefined;
}

interface CompiledVariant {
  readonly entries: readonly Entry[];
  /** Undefined if the type of the object is wrong: its fields depend on the type. */
  readonly known: ReadonlySet<string> | undefined;
}

/** An object with these fields. Fields are checked in this order; unknown ones are warned about. */
export function object<T>(fields: Fields<T>, options: ObjectOptions = {}): ObjectSchema<T> {
  const entries = Object.entries<FieldSchema | Omit<Entry, "field">>(fields).map(
    ([field, one]): Entry => ("schema" in one ? { field, ...one } : { field, schema: one, checkPresence: undefined }),
  );
  const { variants } = options;
  const common: CompiledVariant = { entries, known: new Set(entries.map(({ field }) => field)) };
  const byType = variants && compileVariants(variants, common);
  const checkType = entries.find(({ field }) => field === "type")?.checkPresence;
  const checkObject = (reader: FieldReader): void => {
    const variant = variants && byType ? byType.get(typeOf(reader, variants, checkType)) : common;
    if (variant === undefined) return;
    for (const { field, schema, checkPresence } of variant.entries) {
      // This does not need hasOwn: no field of an API has the name of an inherited property.
      const value = reader.json[field] ?? undefined;
      if (checkPresence !== undefined) checkPresence(value, reader, field);
      if (value !== undefined) schema.check(value, reader, field);
    }
    options.check?.(reader);
    if (variant.known !== undefined) reader.checkUnknown(variant.known, options.onUnknown);
  };
  return {
    openApi: openApiOf(entries, options),
    checkObject,
    check(value, owner, field) {
      const reader = owner.object(field, value);
      if (reader !== undefined) checkObject(reader);
    },
  };
}

/** Whether a document conforms to the schema. Adds its problems to the findings. */
export function conforms<T>(value: JsonObject, schema: ObjectSchema<T>, findings: Findings): value is JsonObject & T {
  const { errors } = findings;
  schema.checkObject(new FieldReader(value, [], findings));
  return findings.errors === errors;
}

/** The type of an object. Reports a missing or unknown type, and returns undefined. */
function typeOf(reader: FieldReader, variants: Variants, checkPresence: CheckPresence | undefined): string | undefined {
  const given = reader.string("type");
  const one = given === undefined || given === "" ? (variants.absent ?? given) : given;
  if (one === undefined) {
    checkPresence?.(reader.value("type"), reader, "type");
    return undefined;
  }
  if (given === undefined && reader.value("type") !== undefined) return undefined;
  if (Object.hasOwn(variants.uses, one)) return one;
  const refused = variants.refused !== undefined && Object.hasOwn(variants.refused, one) && variants.refused[one];
  if (refused) reader.error(refused.code, "type", refused.message);
  else reader.notOneOf("type", one, Object.keys(variants.uses));
  return undefined;
}

function compileVariants(
  { uses, exclusive }: Variants,
  common: CompiledVariant,
): ReadonlyMap<string | undefined, CompiledVariant> {
  const special = new Set(Object.values(uses).flatMap((fields) => Object.keys(fields)));
  const compile = (used: Variants["uses"][string]): CompiledVariant => {
    const entries = common.entries.filter(({ field }) => !special.has(field) || Object.hasOwn(used, field));
    return {
      known: exclusive === undefined ? common.known : new Set(entries.map(({ field }) => field)),
      entries: entries
        .filter(({ field }) => field !== "type")
        .map((entry) => {
          const what = used[entry.field];
          return typeof what === "string" ? { field: entry.field, ...required(entry.schema, what) } : entry;
        }),
    };
  };
  const compiled = new Map<string | undefined, CompiledVariant>();
  for (const [type, used] of Object.entries(uses)) compiled.set(type, compile(used));
  return compiled.set(undefined, { ...compile({}), known: undefined });
}

function openApiOf(entries: readonly Entry[], { rules, variants, openApi }: ObjectOptions): ObjectOpenApi {
  const needed = entries.filter(({ checkPresence }) => checkPresence !== undefined).map(({ field }) => field);
  return {
    type: "object",
    ...(needed.length > 0 && { required: needed }),
    properties: Object.fromEntries(entries.map(({ field, schema }) => [field, schema.openApi])),
    ...validations(rules),
    ...(rules === undefined && variants !== undefined && alternatives(variants)),
    ...openApi,
  };
}

/** The fields that each type needs, as alternatives. Unlike rules, they cost an API server nothing. */
function alternatives({ uses, absent }: Variants): JsonObject {
  return {
    anyOf: Object.entries(uses).map(([type, fields]) => ({
      properties: { type: { enum: [type] } },
      required: [
        ...(type === absent ? [] : ["type"]),
        ...Object.keys(fields).filter((field) => fields[field] !== OPTIONAL),
      ],
    })),
  };
}

/** The rules in the form of a structural schema. */
export function validations(rules: readonly Rule[] = []): JsonObject {
  if (rules.length === 0) return {};
  return { "x-kubernetes-validations": rules.map(([rule, message]): JsonObject => ({ rule, message })) };
}

export const ANY_OBJECT: Schema<JsonObject> & Pick<ObjectSchema<JsonObject>, "checkObject"> = {
  openApi: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  check: (value, owner, field) => owner.object(field, value),
  checkObject: () => undefined,
};

/** A whole Kubernetes object of any kind. `what` names it in messages. */
export function embeddedObject(what: string): Schema<JsonObject> {
  return custom({ ...ANY_OBJECT.openApi, "x-kubernetes-embedded-resource": true }, (value, owner, field) => {
    const object = owner.object(field, value);
    if (object === undefined) return;
    for (const one of ["apiVersion", "kind"]) {
      if (object.string(one) || isOtherThanText(object.value(one))) continue;
      object.warning("Required", one, `is missing; a Kubernetes API server refuses ${what} without it`);
    }
  });
}

function isOtherThanText(value: JsonValue | undefined): boolean {
  return value !== undefined && typeof value !== "string";
}

/** A reference by name. `what` describes the referenced object in messages. */
export function named(what: string): ObjectSchema<{ name: string }> {
  return object<{ name: string }>({ name: required(name(), `the name of ${what}`) });
}
