import { type JsonValue, newObject } from "@xfn/json";
import { parseJsonDocument } from "@xfn/json/document";
import fc from "fast-check";
import type { Desired, FunctionIO, Result } from "../src/function-io/functionio.ts";

/** Any JSON value, objects with null prototypes as our parsers make them. */
export const json: fc.Arbitrary<JsonValue> = fc
  .jsonValue({ maxDepth: 5 })
  .map((value) => parseJsonDocument(`[${JSON.stringify(value)}]`))
  .map((list) => (Array.isArray(list) ? (list[0] ?? null) : null));

/** A JSON object of the values given. */
export function object(value: fc.Arbitrary<JsonValue>): fc.Arbitrary<{ [key: string]: JsonValue }> {
  const key = fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom("__proto__", "constructor", "toString"));
  return fc.dictionary(key, value, { maxKeys: 5, noNullPrototype: false }).map((entries) => {
    const made = newObject();
    for (const [name, item] of Object.entries(entries)) made[name] = item;
    return made;
  });
}

const name = fc.constantFrom("a", "b", "c", "d", "e", "__proto__", "constructor");
const resource = fc
  .record({
    apiVersion: fc.constant("v1"),
    kind: fc.constantFrom("ConfigMap", "Secret"),
    data: object(fc.string({ unit: "grapheme" })),
  })
  .map((value) => value as { [key: string]: JsonValue });

/** A desired state with unique names. */
export const desired: fc.Arbitrary<Desired> = fc
  .uniqueArray(fc.record({ name, resource: fc.option(resource, { nil: null }) }), { selector: (entry) => entry.name })
  .map((resources) => ({ resources }) as unknown as Desired);

/** Results, none of them fatal unless asked for. */
export function results(...severities: string[]): fc.Arbitrary<Result[]> {
  return fc.array(fc.record({ severity: fc.constantFrom(...severities), message: fc.constantFrom("x", "y", "z") }), {
    maxLength: 5,
  });
}

/** A FunctionIO around a desired state and results. */
export function io(parts: { desired?: Desired; results?: Result[]; observed?: FunctionIO["observed"] }): FunctionIO {
  return {
    apiVersion: "apiextensions.crossplane.io/v1alpha1",
    kind: "FunctionIO",
    observed: parts.observed ?? {},
    ...(parts.desired && { desired: parts.desired }),
    ...(parts.results && { results: parts.results }),
  };
}
