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

/**
 * The strings of labels or annotations, and the other values. If all are strings, `texts` is the field's own object,
 * because a copy of each one slows rendering.
 */
export function textsOf(metadata: JsonObject, name: string): { texts: JsonObject; wrong: readonly WrongText[] } {
  const found = field(metadata, name) ?? null;
  if (!isObject(found)) {
    if (found === null) return { texts: newObject(), wrong: NONE };
    return {
      texts: newObject(),
      wrong: [{ path: `metadata.${name}`, problem: `expected an object, found ${kindOf(found)}` }],
    };
  }
  const keys = Object.keys(found);
  const wrong = keys.filter((key) => typeof found[key] !== "string");
  if (wrong.length === 0) return { texts: found, wrong: NONE };
  const texts = newObject();
  for (const key of keys) {
    const value = found[key];
    if (typeof value === "string") texts[key] = value;
  }
  return {
    texts,
    wrong: wrong.map((key) => ({
      path: formatPath(["metadata", name, key]),
      problem: `expected a string, found ${kindOf(found[key] ?? null)}`,
    })),
  };
}

const NONE: readonly WrongText[] = [];
