import { type JsonObject, sameJson } from "@xfn/json";
import { expect, test } from "vitest";
import { appliedFields, lastApplied, owns, project } from "./applied-fields.ts";

const entry = (more: JsonObject): JsonObject => ({
  manager: "me",
  operation: "Apply",
  apiVersion: "example.org/v1",
  fieldsV1: { "f:spec": {} },
  ...more,
});
const object = (...managedFields: JsonObject[]): { apiVersion: string; metadata: JsonObject } => ({
  apiVersion: "example.org/v1",
  metadata: { managedFields },
});

test("the fields of one manager's apply exclude those of other managers and of its updates", () => {
  const fields = { "f:spec": { "f:size": {} } };
  const mine = entry({ fieldsV1: fields });
  const others = [entry({ manager: "other" }), entry({ operation: "Update" }), entry({ subresource: "status" })];
  expect(appliedFields(object(...others, mine), "me", "")).toEqual(fields);
  expect(appliedFields(object(...others), "me", "")).toBeUndefined();
  expect(appliedFields(object(...others), "me", "status")).toEqual({ "f:spec": {} });
  expect(appliedFields({ apiVersion: "example.org/v1", metadata: { managedFields: 5 } }, "me", "")).toBeUndefined();
});

test("an apply in another version belongs to the same manager", () => {
  const fields = { "f:spec": {} };
  expect(lastApplied(object(entry({ apiVersion: "example.org/v2" })), "me", "")).toEqual({
    apiVersion: "example.org/v2",
    fields,
  });
});

test("a projection has the named fields, and whole values of fields without inner fields", () => {
  const value = { a: { b: 1, c: { d: 2 } }, e: [1, 2], x: "other's" };
  expect(project(value, { "f:a": { ".": {}, "f:c": {} }, "f:e": {}, "f:none": {} })).toEqual({
    a: { c: { d: 2 } },
    e: [1, 2],
  });
});

test("list items are matched by key, value and index, in the order of the list", () => {
  const ports = [{ port: 80, name: "other's" }, { port: 443 }, { port: 22, name: "mine" }];
  const fields = { 'k:{"port":22}': { ".": {}, "f:port": {}, "f:name": {} }, 'k:{"port":80}': { "f:port": {} } };
  expect(project(ports, fields)).toEqual([{ port: 80 }, { port: 22, name: "mine" }]);
  expect(project(["b", "a", "c"], { 'v:"a"': {}, 'v:"b"': {} })).toEqual(["b", "a"]);
  expect(project(["b", "a"], { "i:1": {} })).toEqual(["a"]);
  expect(project(["a"], { "v:{": {}, "x:a": {} })).toEqual([]);
});

test("an item that lacks a key with a default matches, one without any key does not", () => {
  const fields = { 'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:port": {} } };
  expect(project([{ port: 80 }], fields)).toEqual([{ port: 80 }]);
  expect(project([{ port: 80, protocol: "UDP" }, { name: "x" }], fields)).toEqual([]);
});

test("a key that is named like a property of Object is data", () => {
  const value = JSON.parse('{"__proto__":{"a":1}}') as JsonObject;
  const part = project(value, JSON.parse('{"f:__proto__":{"f:a":{}}}') as JsonObject) as JsonObject;
  expect(Object.keys(part)).toEqual(["__proto__"]);
  expect(project({}, { "f:constructor": {} })).toEqual({});
});

test("a path is owned if a field covers it", () => {
  const fields = { "f:spec": { "f:ref": { "f:name": {} } } };
  expect(owns(fields, ["spec", "ref", "name"])).toBe(true);
  expect(owns(fields, ["spec", "ref"])).toBe(true);
  expect(owns(fields, ["spec", "other"])).toBe(false);
  expect(owns(undefined, [])).toBe(false);
});

test("JSON values are equal in any order of keys, but not if a key is missing", () => {
  expect(sameJson({ a: 1, b: [{ c: null }] }, { b: [{ c: null }], a: 1 })).toBe(true);
  expect(sameJson({ a: 1 }, { a: 1, b: 2 })).toBe(false);
  expect(sameJson({ a: 1 }, { b: 1 })).toBe(false);
  expect(sameJson([1, 2], [2, 1])).toBe(false);
  expect(sameJson(9007199254740993n, 9007199254740993n)).toBe(true);
  expect(sameJson(undefined, null)).toBe(false);
});
