import { FieldPathError, Float64, parseFieldPath } from "@xfn/composition";
import type { JsonObject, JsonValue } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { type Random, shuffled } from "../../sweep/random.ts";
import { same } from "../same.ts";
import type { VectorCase } from "../vector-file.ts";
import { isPlain, type Mutation, pick, rebuilt } from "./mutation.ts";
import { printAnyYaml } from "./yaml-style.ts";

// Other spellings of the same input. The outcome is the recorded one.

/** Fields in another order: Go reads objects as maps. */
const keyOrder: Mutation = {
  name: "fields in another order",
  apply: (vector, next) =>
    rebuilt(vector, (value) =>
      isPlain(value) ? Object.fromEntries(shuffled(Object.entries(value), next)) : value,
    ) as VectorCase,
};

const PATH_FIELDS = ["fromFieldPath", "toFieldPath", "fieldPath", "path", "valueFromFieldPath", "sortByFieldPath"];

/** `a.b`, `a[b]`, `a["b"]` and `a['b']`. */
const paths: Mutation = {
  name: "other spellings of field paths",
  files: ["connection-details", "fieldpath", "functionio-merge", "patches", "readiness"],
  apply: (vector, next) => {
    let changes = 0;
    const { output, ...input } = vector;
    const respelled = rebuilt(input, (value, key) => {
      if (!PATH_FIELDS.includes(key) || typeof value !== "string") return value;
      const text = respell(value, next);
      if (text !== value) changes++;
      return text;
    });
    if (changes === 0) return undefined;
    return { ...(respelled as VectorCase), ...(output !== undefined && { output }) };
  },
};

function respell(text: string, next: Random): string {
  // The reference looks for the text `[*]`, so wildcards have one spelling only. A policy has a fromFieldPath, too.
  if (text.includes("*") || text === "Optional" || text === "Required") return text;
  let segments: readonly (string | number)[];
  try {
    segments = parseFieldPath(text);
  } catch (error) {
    if (error instanceof FieldPathError) return text;
    throw error;
  }
  return segments.map((segment, index) => pick(spellings(segment, index === 0), next)).join("");
}

function spellings(segment: string | number, isFirst: boolean): string[] {
  if (typeof segment === "number") return [`[${segment}]`, `[00${segment}]`];
  const quoted = [`["${segment}"]`, `['${segment}']`];
  const isIndex = /^\d+$/.test(segment);
  if (segment !== "" && !isIndex) quoted.push(`[${segment}]`, `["${segment}']`);
  if (segment === "" || segment.includes(".")) return quoted;
  // Where quotes are alone, Go trims them too.
  return [...quoted, isFirst ? segment : `.${segment}`, isFirst ? `'${segment}"` : `."${segment}"`];
}

/** The fields of a case that users write in files. */
const DOCUMENTS = [
  "composition",
  "environment",
  "observed",
  "patchSets",
  "resource",
  "resources",
  "validate",
  "xr",
  "xrd",
];

/** YAML in any style, with anchors, comments and quotes: it must be read as what was recorded. */
const yaml: Mutation = {
  name: "YAML",
  files: ["connection-details", "functionio-merge", "patches", "readiness", "xrd-crd"],
  apply: (vector, next) => {
    const changed: JsonObject = { ...vector };
    for (const field of DOCUMENTS) {
      const value = vector[field];
      if (value === undefined || hasFloat(value)) continue;
      const text = printAnyYaml(value, next);
      const [document] = readDocuments(text);
      if (document === undefined || !same(document.value, value)) {
        throw new TypeError(`this YAML is read as another value:\n${text}`);
      }
      changed[field] = document.value;
    }
    return changed as VectorCase;
  },
};

// A document turns the float64 4.0 into an integer.
function hasFloat(value: JsonValue): boolean {
  let found = false;
  rebuilt(value, (one) => {
    found ||= one instanceof Float64;
    return one;
  });
  return found;
}

/** Mutations of every kind of file. */
export const SPELLINGS: readonly Mutation[] = [keyOrder, paths, yaml];
