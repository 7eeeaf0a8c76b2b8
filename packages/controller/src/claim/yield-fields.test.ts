import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { yieldFields } from "./yield-fields.ts";

/** A composite on which the Composition has set these labels. */
const composite = (labels: Record<string, string>, composed: readonly string[]): LiveObject => {
  const fields: JsonObject = Object.fromEntries(composed.map((key) => [`f:${key}`, {}]));
  const managedFields = [
    {
      manager: "apiextensions.crossplane.io/composite",
      operation: "Apply",
      fieldsV1: { "f:metadata": { "f:labels": fields } },
    },
  ];
  return {
    apiVersion: "example.org/v1",
    kind: "XThing",
    metadata: { name: "a", uid: "a", resourceVersion: "1", labels, managedFields },
  };
};

test("a claim yields a label that the Composition has set to another value, and no other", () => {
  const known = composite({ team: "composed", stage: "dev", same: "x" }, ["team", "same"]);
  expect(yieldFields({ team: "a", stage: "prod", same: "x", new: "y" }, known, "metadata", "labels")).toEqual({
    own: { stage: "prod", same: "x", new: "y" },
    yielded: ["metadata.labels.team"],
  });
});

test("a claim without a composite yields nothing", () => {
  expect(yieldFields({ team: "a" }, undefined, "metadata", "labels")).toEqual({ own: { team: "a" }, yielded: [] });
});

/** A composite whose Composition owns these fields of its spec. */
const withSpec = (spec: JsonObject, fields: JsonObject): LiveObject => ({
  ...composite({}, []),
  metadata: {
    ...composite({}, []).metadata,
    managedFields: [{ manager: FIELD_MANAGERS.composite, operation: "Apply", fieldsV1: { "f:spec": fields } }],
  },
  spec,
});

test.each(["compositionRef", "compositionRevisionRef", "compositionUpdatePolicy"])(
  "a claim does not yield %s of its composite, which the composite reconciler only follows",
  (field) => {
    const known = withSpec(
      { [field]: "b", inner: { [field]: "b" } },
      { [`f:${field}`]: {}, "f:inner": { [`f:${field}`]: {} } },
    );
    expect(yieldFields({ [field]: "a", inner: { [field]: "a" } }, known, "spec")).toEqual({
      own: { [field]: "a" },
      yielded: [`spec.inner.${field}`],
    });
  },
);

test("a claim keeps a field that the composite has lost, also one with the name of a method", () => {
  const known = withSpec({}, { "f:a": {}, "f:constructor": {} });
  expect(yieldFields({ a: 1, constructor: 1 }, known, "spec")).toEqual({ own: { a: 1, constructor: 1 }, yielded: [] });
});

test.each(['k:{"name":"x"}', 'v:"x"', "i:0"])("a claim keeps a list of which the Composition owns %s", (item) => {
  const known = withSpec({ list: ["y"] }, { "f:list": { [item]: {} } });
  expect(yieldFields({ list: ["x"] }, known, "spec")).toEqual({ own: { list: ["x"] }, yielded: [] });
});

test.each<[string, JsonObject]>([
  ["an object without fields of its own in managed fields", {}],
  ["an atomic map", { ".": {} }],
])("a claim yields an object that the Composition owns whole: %s", (_, fields) => {
  const known = withSpec({ options: { a: "composed" } }, { "f:options": fields });
  expect(yieldFields({ options: { a: "claimed" } }, known, "spec")).toEqual({ own: {}, yielded: ["spec.options"] });
  expect(yieldFields({ options: { a: "composed" } }, known, "spec").yielded).toEqual([]);
});
