import type { JsonObject } from "@xfn/json";
import type { FieldReader } from "../reader/field-reader.ts";
import { kindOf } from "../values/json.ts";
import { type ObjectSchema, validations } from "./object.ts";
import type { Rule, Schema, TextSchema } from "./schema.ts";

/** Rules and checks of a list as a whole. */
export interface ListOptions {
  /** The most items. An API server needs it to estimate the cost of rules that compare items. */
  maxItems?: number;
  minItems?: number;
  /** The field that identifies items. An API server merges the list by it. */
  key?: string;
  rules?: readonly Rule[];
  /** Checks items against each other, for files. Runs after the checks of the items. */
  check?: (items: readonly FieldReader[], owner: FieldReader) => void;
}

/** The schema of an object in a list. */
type ItemSchema<T> = Schema<T> & Pick<ObjectSchema<T>, "checkObject">;

/** A list of objects. */
export function list<T>(item: ItemSchema<T>, options: ListOptions = {}): Schema<T[]> {
  const { maxItems, minItems, key, rules, check } = options;
  return {
    openApi: {
      type: "array",
      items: item.openApi,
      ...(maxItems !== undefined && { maxItems }),
      ...(key !== undefined && { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key] }),
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

/** Calls `report` for each item with the name of an earlier item, and passes the index of the earlier one. */
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

/** A list of strings that differ and are not empty. */
export function texts(item: TextSchema): Schema<string[]> {
  return {
    openApi: { type: "array", items: item.openApi },
    check(value, owner, field) {
      if (!Array.isArray(value)) return owner.error("Invalid", field, `expected a list, found ${kindOf(value)}`);
      const seen = new Set<string>();
      for (const [index, one] of value.entries()) {
        const at = [...owner.at(field), index];
        if (typeof one !== "string") owner.findings.error("Invalid", at, `expected a string, found ${kindOf(one)}`);
        else if (one === "") owner.findings.error("Invalid", at, "is empty");
        else if (seen.has(one)) owner.findings.error("Duplicate", at, "is in the list already");
        else {
          const problem = item.problemOf(one);
          if (problem !== undefined) owner.findings.error("Invalid", at, problem);
          seen.add(one);
        }
      }
    },
  };
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
