import type { JsonObject } from "@xfn/json";
import { expect, test } from "vitest";
import { applyDefaults } from "./apply-defaults.ts";

const xrd = (schema: JsonObject): JsonObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositeResourceDefinition",
  metadata: { name: "xthings.example.org" },
  spec: {
    group: "example.org",
    names: { kind: "XThing", plural: "xthings" },
    versions: [{ name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: schema } }],
  },
});

const DEFINITION = xrd({
  type: "object",
  properties: {
    spec: {
      type: "object",
      default: { size: 2 },
      properties: { size: { type: "integer", default: 1 }, region: { type: "string", default: "eu" } },
    },
  },
});

const thing = (rest: JsonObject): JsonObject & { apiVersion: string; kind: string; metadata: JsonObject } => ({
  apiVersion: "example.org/v1",
  kind: "XThing",
  metadata: { name: "thing" },
  ...rest,
});

test("fills in the defaults of the XR's version, and does not change the XR", () => {
  const given = thing({ spec: { size: 5 } });
  expect(applyDefaults(DEFINITION, given)["spec"]).toEqual({ size: 5, region: "eu" });
  expect(given["spec"]).toEqual({ size: 5 });
});

test("applies a default of the whole spec, which Crossplane drops", () => {
  expect(applyDefaults(DEFINITION, thing({}))["spec"]).toEqual({ size: 2, region: "eu" });
});

test("fills in the defaults of injected fields", () => {
  const { spec } = applyDefaults(DEFINITION, thing({ spec: { publishConnectionDetailsTo: { name: "a" } } }));
  expect(spec).toMatchObject({ publishConnectionDetailsTo: { name: "a", configRef: { name: "default" } } });
});

test.each([
  ["another kind", { kind: "XOther" }],
  ["another group", { apiVersion: "example.com/v1" }],
  ["a version that is not defined", { apiVersion: "example.org/v2" }],
])("%s is a mismatch", (_, wrong) => {
  expect(() => applyDefaults(DEFINITION, thing(wrong))).toThrow(
    expect.objectContaining({ name: "DefinitionError", code: "Mismatch", retryable: false }),
  );
});

test("a definition without a valid schema is reported with the field", () => {
  expect(() => applyDefaults(xrd({ type: 5 }), thing({}))).toThrow(
    expect.objectContaining({
      code: "Invalid",
      issues: [expect.objectContaining({ path: "spec.versions[0].schema.openAPIV3Schema.type" })],
    }),
  );
});
