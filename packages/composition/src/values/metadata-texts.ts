import { formatPath, type JsonObject, type JsonValue, newObject } from "@xfn/json";
import { isObject, kindOf } from "./json.ts";
import { field } from "./object-fields.ts";

/** A value in an object's labels or annotations that is not a string, which Kubernetes refuses. */
export interface WrongText {
  /** The field, such as `metadata.labels.size`. */
  readonly path: string;
  /** The problem of the value, such as `expected a string, found a number`. */
  readonly problem: string;
}

/** Finds the labels and annotations of an object's metadata that are not strings. */
export function wrongTexts(metadata: JsonObject): WrongText[] {
  const wrong: WrongText[] = [];
  for (const name of ["labels", "annotations"]) if (!areTexts(field(metadata, name))) stringsOf(metadata, name, wrong);
  return wrong;
}

/** Whether a value is an object whose values are all strings. */
export function areTexts(value: JsonValue | undefined): value is JsonObject {
  if (!isObject(value)) return false;
  for (const key of Object.keys(value)) if (typeof value[key] !== "string") return false;
  return true;
}

/** A new object with the strings of labels or annotations. Adds the other values to `wrong`. */
export function stringsOf(metadata: JsonObject, name: string, wrong: WrongText[]): JsonObject {
  const texts = newObject();
  const found = field(metadata, name) ?? null;
  if (isObject(found)) {
    for (const [key, value] of Object.entries(found)) {
      if (typeof value === "string") texts[key] = value;
      else {
        const path = formatPath(["metadata", name, key]);
        wrong.push({ path, problem: `expected a string, found ${kindOf(value)}` });
      }
    }
  } else if (found !== null) {
    wrong.push({ path: `metadata.${name}`, problem: `expected an object, found ${kindOf(found)}` });
  }
  return texts;
}
