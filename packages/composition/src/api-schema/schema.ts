import type { JsonObject, JsonValue } from "@xfn/json";
import type { FieldReader } from "../reader/field-reader.ts";

/** The check of a field in a document, and the schema for the same check in an API server. */
export interface FieldSchema {
  /** As in the structural schema of a CRD. */
  readonly openApi: JsonObject;
  /** Reports the problems of a field's value, which is not null. */
  check(value: JsonValue, owner: FieldReader, field: string): void;
}

/** A schema of values that have the TypeScript type `T` once they have passed the check. */
export interface Schema<T> extends FieldSchema {
  /** Never set. It makes the compiler compare `T` exactly, so that a table cannot miss a value of an enum. */
  readonly type?: (value: T) => T;
}

/** Reports the absence of a field, if it is absent. */
export type CheckPresence = (value: JsonValue | undefined, owner: FieldReader, field: string) => void;

/** A field that must be there. */
export interface RequiredField<T> {
  readonly schema: Schema<T>;
  readonly checkPresence: CheckPresence;
}

/** A CEL rule, which an API server evaluates, and its message. */
export type Rule = readonly [rule: string, message: string];

/** A field that must be there; `what` completes "is missing; give". Empty is missing where the schema has a minimum. */
export function required<T>(schema: Schema<T>, what: string = choicesOf(schema)): RequiredField<T> {
  return {
    schema,
    checkPresence(value, owner, field) {
      if (value === undefined) owner.error("Required", field, `is missing; give ${what}`);
      else if (isEmpty(value, schema)) owner.error("Required", field, `is empty; give ${what}`);
    },
  };
}

/** A field that an API server requires. In a file its absence is a warning with this message, or nothing. */
export function expected<T>(schema: Schema<T>, message?: string): RequiredField<T> {
  return {
    schema,
    checkPresence(value, owner, field) {
      if (message === undefined) return;
      if (value === undefined || isEmpty(value, schema)) owner.warning("Required", field, message);
    },
  };
}

function choicesOf({ openApi }: FieldSchema): string {
  const choices = Array.isArray(openApi["enum"]) ? openApi["enum"] : [];
  return `one of ${choices.filter((choice) => typeof choice === "string").join(", ")}`;
}

/** Whether a string or a list is empty, and its schema has a minimum. */
function isEmpty(value: JsonValue, { openApi }: FieldSchema): boolean {
  if (value === "") return openApi["minLength"] !== undefined;
  return openApi["minItems"] !== undefined && Array.isArray(value) && value.length === 0;
}

/** A schema with a check of its own. */
export function custom<T>(openApi: JsonObject, check: FieldSchema["check"]): Schema<T> {
  return { openApi, check };
}

/** A field that is known and never read: only an API server checks it. */
export function unread<T>({ openApi }: Schema<T>): Schema<T> {
  return custom(openApi, () => undefined);
}

/** A string of at most `maxLength` characters. An API server estimates the cost of rules from it. */
export function text(maxLength?: number, more: JsonObject = {}): TextSchema {
  return anyText({ type: "string", ...(maxLength !== undefined && { maxLength }), ...more });
}

/** A string that is not empty where it is required. */
export function name(maxLength = 253, more: JsonObject = {}): TextSchema {
  return anyText({ type: "string", minLength: 1, maxLength, ...more });
}

function anyText(openApi: JsonObject): TextSchema {
  return {
    openApi,
    problemOf: () => undefined,
    check: (value, owner, field) => owner.string(field, value),
  };
}

/** A string with a check that returns its problem. */
export interface TextSchema extends Schema<string> {
  /** The problem of a string that is not empty; undefined if it is valid. */
  problemOf(text: string): string | undefined;
}

/** A string without the problem that the function returns. */
export function textThat(openApi: JsonObject, problemOf: TextSchema["problemOf"]): TextSchema {
  return {
    openApi,
    problemOf,
    check(value, owner, field) {
      const given = owner.string(field, value);
      const problem = given ? problemOf(given) : undefined;
      if (problem !== undefined) owner.error("Invalid", field, problem);
    },
  };
}

/** A text that must match a pattern. */
export function matching(maxLength: number, pattern: RegExp, problem: string): TextSchema {
  const { openApi } = name(maxLength, { pattern: pattern.source });
  return textThat(openApi, (value) => (value.length <= maxLength && pattern.test(value) ? undefined : problem));
}

/** The same schema with a default, which an API server fills in for an absent field. */
export function defaulted<T extends JsonValue>(schema: Schema<T>, value: T): Schema<T> {
  return { ...schema, openApi: { ...schema.openApi, default: value } };
}

/** One of some strings. */
export function choice<const T extends string>(...values: readonly T[]): Schema<T> {
  return custom({ type: "string", enum: [...values] }, (value, owner, field) => owner.oneOf(field, values, value));
}

export const FLAG: Schema<boolean> = custom({ type: "boolean" }, (value, owner, field) => owner.boolean(field, value));

/** An integer of 64 bits. */
export const INTEGER: Schema<number | bigint> = custom({ type: "integer", format: "int64" }, (value, owner, field) =>
  owner.integer(field, value),
);

/** An integer of 64 bits that is not negative. */
export const COUNT: Schema<number | bigint> = custom({ ...INTEGER.openApi, minimum: 0 }, (value, owner, field) => {
  const count = owner.integer(field, value);
  if (count !== undefined && count < 0) owner.error("Invalid", field, "must not be negative");
});

/** An integer between two bounds. */
export function within<T extends number | bigint = number>(
  minimum: number,
  maximum: number,
  more: JsonObject = {},
): Schema<T> {
  return custom<T>({ type: "integer", ...more, minimum, maximum }, (value, owner, field) => {
    const number = owner.integer(field, value);
    if (number === undefined || (number >= minimum && number <= maximum)) return;
    owner.error("Invalid", field, `must be between ${minimum} and ${maximum}`);
  });
}

export const ANY: Schema<JsonValue> = custom(
  { nullable: true, "x-kubernetes-preserve-unknown-fields": true },
  () => undefined,
);
