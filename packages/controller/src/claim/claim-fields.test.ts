import type { Definition } from "@xfn/composition/definition";
import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { completedSpec, wantedSpec } from "./claim-fields.ts";

const claim = (spec: JsonObject, copied: JsonObject = {}, others: JsonObject = {}): LiveObject => ({
  apiVersion: "example.org/v1",
  kind: "Thing",
  metadata: {
    name: "a",
    namespace: "b",
    uid: "c",
    resourceVersion: "1",
    managedFields: [
      { manager: FIELD_MANAGERS.claim, operation: "Update", fieldsV1: { "f:spec": copied } },
      { manager: "kubectl", operation: "Update", fieldsV1: { "f:spec": others } },
      { manager: "kubectl", operation: "Update", subresource: "status", fieldsV1: { "f:spec": copied } },
    ],
  },
  spec,
});
const DEFINITION = { spec: {} } as Definition;
const wanted = (one: LiveObject, definition: Definition = DEFINITION): JsonObject => wantedSpec(one, definition);
const completed = (one: LiveObject, of: LiveObject, definition: Definition = DEFINITION): JsonObject =>
  completedSpec(one, of, definition);
const composite = (spec: JsonObject): LiveObject => ({ ...claim(spec), kind: "XThing" });

test("the composite gets the author's fields, not those that were copied from it", () => {
  const spec = { a: 1, b: 2, c: { d: 3, e: 4 } };
  expect(wanted(claim(spec, { "f:b": {}, "f:c": { "f:e": {} } }))).toEqual({ a: 1, c: { d: 3 } });
});

test("a field that the author owns too belongs to the author", () => {
  expect(wanted(claim({ a: 1 }, { "f:a": {} }, { "f:a": {} }))).toEqual({ a: 1 });
});

test("an object with only copied fields is left out", () => {
  expect(wanted(claim({ c: { d: 1 } }, { "f:c": { ".": {}, "f:d": {} } }))).toEqual({});
});

test("a copied field is left out, even if it has changed", () => {
  // The author has replaced an object with a text, and has added to an object that was copied as a whole.
  expect(Object.entries(wanted(claim({ c: "text" }, { "f:c": { "f:d": {} } })))).toEqual([]);
  expect(Object.entries(wanted(claim({ c: { d: 1 } }, { "f:c": {} })))).toEqual([]);
});

test("a copied field that the composite no longer has is dropped, also one with the name of a method", () => {
  const one = claim({ a: 1, constructor: 1 }, { "f:a": {}, "f:constructor": {} });
  expect(Object.entries(completed(one, composite({})))).toEqual([]);
});

test("an object of the author is completed, and stays if it is empty", () => {
  expect(completed(claim({ c: { d: 1 } }), composite({ c: { e: 2 } }))).toEqual({ c: { d: 1, e: 2 } });
  expect(completed(claim({ c: {} }), composite({ c: {} }))).toEqual({ c: {} });
});

test("lists are copied as a whole, regardless of the owners of their items", () => {
  const list = [{ name: "x" }];
  expect(wanted(claim({ list }, { "f:list": { 'k:{"name":"x"}': { ".": {}, "f:name": {} } } }))).toEqual({});
  const theirs = { "f:list": { 'k:{"name":"x"}': {} } };
  expect(wanted(claim({ list }, theirs, theirs))).toEqual({ list });
});

test("reserved fields are copied in neither direction", () => {
  const own = {
    claimRef: {},
    resourceRef: {},
    resourceRefs: [],
    compositeDeletePolicy: "Foreground",
    environmentConfigRefs: [],
    publishConnectionDetailsTo: {},
    writeConnectionSecretToRef: {},
  };
  expect(wanted(claim({ ...own, a: 1 }))).toEqual({ a: 1 });
  expect(completed(claim({}), composite({ ...own, a: 1 }))).toEqual({ a: 1 });
  expect(completed(claim({ resourceRef: { name: "x" } }, { "f:resourceRef": {} }), composite({}))).toEqual({
    resourceRef: { name: "x" },
  });
});

test("the claim follows the composite's fields and retains its author's", () => {
  const copied = { "f:b": {}, "f:c": { "f:e": {} } };
  const before = claim({ a: 1, b: 2, c: { d: 3, e: 4 } }, copied);
  expect(completed(before, composite({ a: 9, b: 9, c: { d: 9, e: 9, f: 9 }, g: 9 }))).toEqual({
    a: 1,
    b: 9,
    c: { d: 3, e: 9, f: 9 },
    g: 9,
  });
  expect(completed(before, composite({}))).toEqual({ a: 1, c: { d: 3 } });
});

test("fields that the claim cannot choose are only copied back", () => {
  const asks = { compositionRef: { name: "a" }, compositionRevisionRef: { name: "a-1" } };
  const has = { compositionRef: { name: "b" }, compositionRevisionRef: { name: "b-1" } };
  const enforced = { spec: { enforcedCompositionRef: { name: "b" } } } as Definition;
  expect(wanted(claim(asks), enforced)).toEqual({});
  expect(completed(claim(asks), composite(has), enforced)).toEqual(has);
  expect(wanted(claim(asks))).toEqual({ compositionRef: { name: "a" } });
  const manual = { ...asks, compositionUpdatePolicy: "Manual" };
  expect(wanted(claim(manual))).toEqual(manual);
  expect(completed(claim(manual), composite(has))).toEqual(manual);
});

test("a field named __proto__ is data", () => {
  const spec = JSON.parse('{"__proto__":{"a":1}}') as JsonObject;
  expect(Object.hasOwn(wanted(claim(spec)), "__proto__")).toBe(true);
  expect(Object.hasOwn(completed(claim({}), composite(spec)), "__proto__")).toBe(true);
  expect(Object.hasOwn(Object.prototype, "a")).toBe(false);
});

test("reclaimPolicy is the composite's, unless it is a field of the definition's author", () => {
  const definition = (properties: JsonObject): Definition => {
    const schema = { openAPIV3Schema: { properties: { spec: { properties } } } };
    return { spec: { scope: "LegacyCluster", versions: [{ name: "v1", schema }] } } as unknown as Definition;
  };
  const one = claim({ a: 1, reclaimPolicy: "Retain" });
  expect(wanted(one, definition({}))).toEqual({ a: 1 });
  expect(wanted(one, definition({ reclaimPolicy: { type: "string" } }))).toEqual({ a: 1, reclaimPolicy: "Retain" });
  const of = composite({ reclaimPolicy: "Delete" });
  expect(completed(claim({}), of, definition({}))).toEqual({});
  expect(completed(claim({}), of, definition({ reclaimPolicy: { type: "string" } }))).toEqual({
    reclaimPolicy: "Delete",
  });
});
