import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { isOfPredecessor } from "./owner.ts";

const owner = (namespace?: string): LiveObject => ({
  apiVersion: "example.org/v1",
  kind: "Thing",
  metadata: { name: "a", uid: "new", resourceVersion: "1", ...(namespace !== undefined && { namespace }) },
});
const reference = { apiVersion: "example.org/v1", kind: "Thing", name: "a", uid: "old", controller: true };
const owned = (by: object, namespace?: string): LiveObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name: "c",
    uid: "c",
    resourceVersion: "1",
    ownerReferences: [{ ...reference, ...by }],
    ...(namespace !== undefined && { namespace }),
  },
});

test.each<[boolean, string, object]>([
  [true, "the same name and kind", {}],
  [true, "another version of the kind", { apiVersion: "example.org/v1beta1" }],
  [false, "the UID of the owner itself", { uid: "new" }],
  [false, "another name", { name: "b" }],
  [false, "another kind", { kind: "Other" }],
  [false, "another group", { apiVersion: "example.com/v1" }],
  [false, "no control", { controller: false }],
])("is %s for an owner reference with %s", (expected, _, by) => {
  expect(isOfPredecessor(owned(by), owner())).toBe(expected);
});

test("a namespaced owner has predecessors in its namespace only", () => {
  expect(isOfPredecessor(owned({}, "here"), owner("here"))).toBe(true);
  expect(isOfPredecessor(owned({}, "there"), owner("here"))).toBe(false);
});
