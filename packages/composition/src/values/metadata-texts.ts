import { formatPath, type JsonObject, newObject } from "@xfn/json";
import { isObject, kindOf } from "./json.ts";
import { field } from "./object-fields.ts";

/** A value in an object's labels or annotations that is no string, which Kubernetes refuses. */
export interface WrongText {
  /** The field, such as `metadata.labels.size`. */
  readonly path: string;
  /** What it is, such as `expected a string, found a number`. */
  readonly problem: string;
}

/** Finds the labels and annotations of an object's metadata that are no strings. */
export function wrongTexts(metadata: JsonObject): WrongText[] {
  return ["labels", "annotations"].flatMap((name) => textsOf(metadata, name).wrong);
}

/** The strings of labels or annotations in a new object, and the other values. */
export function textsOf(metadata: JsonObject, name: string): { texts: JsonObject; wrong: readonly WrongText[] } {
  const texts = newObject();
  const wrong: WrongText[] = [];
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
  return { texts, wrong };
}
