import type { JsonObject, JsonValue } from "@xfn/json";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isObject } from "../values/json.ts";
import { compileSchema } from "./compile.ts";
import { checkStructure } from "./structural/check-structure.ts";
import { readSchema } from "./structural/node.ts";
import { SchemaError } from "./structural/schema-error.ts";

const key = fc.constantFrom("a", "b", "c", "__proto__", "constructor", "x-y");

/** Any JSON, with difficult keys. */
const json: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<JsonValue>(
      null,
      true,
      0,
      1,
      -1,
      1.5,
      2n ** 63n,
      9007199254740993n,
      "",
      "a",
      "2024-01-01",
      "💥",
      "50%",
    ),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }).map((entries) => object(entries)),
  ),
})).value;

function object(entries: readonly (readonly [string, JsonValue])[]): JsonObject {
  const result = Object.create(null) as JsonObject;
  for (const [name, value] of entries) result[name] = value;
  return result;
}

/** A required field that is not declared is pruned, and then missing, as in an API server. */
function requiresNamed<T extends { properties: JsonObject; required?: string[] }>(node: T): T {
  return node.required === undefined
    ? node
    : { ...node, required: node.required.filter((name) => name in node.properties) };
}

/** Structural schemas. */
const schema: fc.Arbitrary<JsonObject> = fc
  .letrec<{ node: JsonObject }>((tie) => ({
    node: fc.oneof(
      { depthSize: "small" },
      fc.record(
        {
          type: fc.constant("string"),
          nullable: fc.boolean(),
          default: fc.constant("d"),
          maxLength: fc.nat(3),
          pattern: fc.constantFrom("a", "^$"),
        },
        { requiredKeys: ["type"] },
      ),
      fc.record(
        {
          type: fc.constantFrom("integer", "number"),
          minimum: fc.integer({ min: -2, max: 2 }),
          default: fc.constant(1),
        },
        { requiredKeys: ["type"] },
      ),
      fc.constant({ "x-kubernetes-int-or-string": true }),
      fc.constant({ "x-kubernetes-preserve-unknown-fields": true }),
      fc.record(
        { type: fc.constant("array"), items: tie("node"), maxItems: fc.nat(3) },
        { requiredKeys: ["type", "items"] },
      ),
      fc.record({ type: fc.constant("object"), additionalProperties: tie("node") }),
      fc
        .record(
          {
            type: fc.constant("object"),
            properties: fc.array(fc.tuple(key, tie("node")), { maxLength: 3 }).map(object),
            required: fc.array(key, { maxLength: 2 }),
            "x-kubernetes-preserve-unknown-fields": fc.constant(true),
          },
          { requiredKeys: ["type", "properties"] },
        )
        .map(requiresNamed),
    ),
  }))
  .node.map((node) => ({
    type: "object",
    properties: object([
      ["a", node],
      ["b", node],
    ]),
  }));

/** Schemas of real keywords with any values. */
const nonsense: fc.Arbitrary<JsonObject> = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        "type",
        "properties",
        "items",
        "required",
        "default",
        "enum",
        "anyOf",
        "not",
        "pattern",
        "minimum",
        "maxLength",
        "format",
        "additionalProperties",
        "x-kubernetes-validations",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
      ),
      json,
    ),
    { maxLength: 6 },
  )
  .map(object);

test("defaulting and pruning are idempotent, and do not change their arguments", () => {
  fc.assert(
    fc.property(schema, json, (keywords, value) => {
      const compiled = compileSchema(keywords);
      const before = structuredClone(value);
      const complete = compiled.default(value);
      const { value: kept, unknown } = compiled.prune(complete);
      compiled.validate(complete);
      expect(value).toEqual(before);
      expect(compiled.default(complete)).toEqual(complete);
      expect(compiled.prune(kept)).toEqual({ value: kept, unknown: [] });
      if (unknown.length === 0) expect(kept).toEqual(complete);
    }),
  );
});

test("a valid value stays valid when it is pruned", () => {
  fc.assert(
    fc.property(schema, json, (keywords, value) => {
      const compiled = compileSchema(keywords);
      if (compiled.validate(value).length > 0) return;
      expect(compiled.validate(compiled.prune(value).value)).toEqual([]);
    }),
  );
});

test("no schema or value crashes the validator or changes prototypes", () => {
  fc.assert(
    fc.property(nonsense, json, (keywords, value) => {
      try {
        const compiled = compileSchema({ properties: { a: keywords } });
        const given = object([["a", value]]);
        compiled.validate(compiled.default(compiled.prune(given).value), given);
      } catch (error) {
        if (!(error instanceof SchemaError)) throw error;
        expect(error.issues.length).toBeGreaterThan(0);
      }
      try {
        checkStructure(readSchema(keywords), () => undefined);
      } catch (error) {
        if (!(error instanceof SchemaError)) throw error;
      }
      expect(Object.keys(Object.prototype)).toEqual([]);
      expect(isObject(keywords)).toBe(true);
    }),
  );
});
