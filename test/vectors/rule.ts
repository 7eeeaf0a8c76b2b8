import { isObject, type JsonObject, type JsonValue } from "@xfn/functionio";
import type { Expected, VectorCase } from "./vector-file.ts";

/**
 * Where our outcome differs from the reference's on purpose. A rule speaks of inputs, not of the names of cases, so that
 * it holds for any folder of vectors. docs/conformance.md lists the rules; a test keeps the two alike.
 */
export interface Rule {
  name: string;
  /** The kind of file whose cases it is for. */
  file: string;
  /** Why we differ, in a sentence. */
  reason: string;
  /** Whether it is about a case; decided by the case's input only. */
  applies(vector: VectorCase): boolean;
  /** What is to come out instead, where the reference says `recorded`. */
  outcome(vector: VectorCase, recorded: Expected): Expected;
}

/** The objects of a list; none if it is no list. */
export function list(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** A field that is to be an object; an empty one if it is not. */
export function child(parent: JsonObject | undefined, field: string): JsonObject {
  const value = parent !== undefined && Object.hasOwn(parent, field) ? parent[field] : undefined;
  return isObject(value) ? value : {};
}

/** What comes out, as an expectation. */
export function attempt(run: () => unknown): Expected {
  try {
    return { output: run() };
  } catch (error) {
    return { error: String(error) };
  }
}
