import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { describeFight } from "./describe-fight.ts";

const OWN = "the-controller";
const KIND = { apiVersion: "v1", kind: "Service" };

function live(spec: JsonObject, ...managers: string[]): LiveObject {
  const fieldsV1 = { "f:spec": Object.fromEntries(Object.keys(spec).map((field) => [`f:${field}`, {}])) };
  const managedFields = managers.map((manager) => ({ manager, operation: "Update", fieldsV1 }));
  return { ...KIND, metadata: { name: "a", uid: "a", resourceVersion: "1", managedFields }, spec };
}

test("names at most three fields, and no values", () => {
  const changed = live({ a: "s3cret", b: 2, c: 3, d: 4, same: 5 }, "provider");
  const message = describeFight({ ...KIND, spec: { a: 1, b: 1, c: 1, d: 1, same: 5 } }, changed, OWN);
  expect(message).toContain("provider changes spec.a, spec.b, spec.c back");
  expect(message).not.toContain("s3cret");
});

// A list that merges by key has several owners: each owns its items.
test("names the writers other than the controller, each once", () => {
  const changed = live({ ports: [{ port: 1 }], size: 2 }, OWN, "provider", "kubectl");
  const message = describeFight({ ...KIND, spec: { ports: [{ port: 2 }], size: 1 } }, changed, OWN);
  expect(message).toContain("Service a: provider and kubectl changes spec.ports, spec.size back");
});

test("names another writer if no manager owns the field", () => {
  expect(describeFight({ ...KIND, spec: { size: 1 } }, live({}), OWN)).toContain(
    "another writer changes spec.size back",
  );
});
