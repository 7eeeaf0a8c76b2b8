import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import type { Expected, VectorCase } from "./vector-file.ts";

/**
 * An intended difference from the reference. A rule matches inputs, not names of cases, so that it applies to any
 * folder of vectors. docs/concepts/differences-from-crossplane.md lists the rules, and a test compares both.
 */
export interface Rule {
  name: string;
  /** The kind of file with its cases. */
  file: string;
  /** The difference and its reason. */
  reason: string;
  /** Whether the rule applies to a case, by its input only. */
  applies(vector: VectorCase): boolean;
  /** The expected outcome instead of the recorded one. */
  outcome(vector: VectorCase, recorded: Expected): Expected;
}

/** The objects of a list. Empty if the value is not a list. */
export function list(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** A field if it is an object, otherwise an empty object. */
export function child(parent: JsonObject | undefined, field: string): JsonObject {
  const value = parent !== undefined && Object.hasOwn(parent, field) ? parent[field] : undefined;
  return isObject(value) ? value : {};
}

/** Expects an output. */
export function attempt(run: () => unknown): Expected {
  try {
    return { output: run() };
  } catch (error) {
    return { error: String(error) };
  }
}
