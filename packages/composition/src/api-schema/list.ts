import type { JsonObject } from "@xfn/functionio";
import type { FieldReader } from "../reader/field-reader.ts";
import { type ObjectSchema, validations } from "./object.ts";
import type { Rule, Schema } from "./schema.ts";

/** What a list says beside its items. */
export interface ListOptions {
  /** Where rules compare items, an API server needs it to estimate their cost. */
  maxItems?: number;
  minItems?: number;
  rules?: readonly Rule[];
  /** What holds between items, for files. Runs after the checks of the items. */
  check?: (items: readonly FieldReader[], owner: FieldReader) => void;
}

/** The schema of an object in a list. */
type ItemSchema<T> = Schema<T> & Pick<ObjectSchema<T>, "checkObject">;

/** A list of objects. */
export function list<T>(item: ItemSchema<T>, options: ListOptions = {}): Schema<T[]> {
  const { maxItems, minItems, rules, check } = options;
  return {
    openApi: {
      type: "array",
      items: item.openApi,
      ...(maxItems !== undefined && { maxItems }),
      ...validations(rules),
      ...(minItems !== undefined && { minItems }),
    },
    check(value, owner, field) {
      const items = owner.objects(field, value);
      for (const reader of items) item.checkObject(reader);
      check?.(items, owner);
    },
  };
}

/** Calls back for each item whose name an earlier item has, with the index of that one. */
export function eachDuplicate(
  items: readonly FieldReader[],
  field: string,
  report: (item: FieldReader, name: string, first: number) => void,
): void {
  const seen = new Map<string, number>();
  for (const item of items) {
    const name = item.value(field);
    if (typeof name !== "string") continue;
    const first = seen.get(name);
    if (first !== undefined) report(item, name, first);
    else seen.set(name, item.index);
  }
}

/** A map whose values are of one type. */
export function map<T>(values: Schema<T>, more: JsonObject = {}): Schema<{ [key: string]: T }> {
  return {
    openApi: { type: "object", ...more, additionalProperties: values.openApi },
    check(value, owner, field) {
      const reader = owner.object(field, value);
      if (reader === undefined) return;
      for (const [key, one] of Object.entries(reader.json)) if (one !== null) values.check(one, reader, key);
    },
  };
}
