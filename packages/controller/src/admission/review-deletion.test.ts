import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { answerTo, readReview } from "./review-deletion.ts";

const oldObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "b" } };
const request = { uid: "1", operation: "DELETE", oldObject };

test("the review of a deletion has its object and policy", () => {
  expect(readReview({ request: { ...request, dryRun: true, options: { propagationPolicy: "Orphan" } } })).toEqual({
    uid: "1",
    object: { apiVersion: "v1", kind: "ConfigMap", name: "a", namespace: "b" },
    propagation: "Orphan",
    isDryRun: true,
  });
  expect(readReview({ request })).toMatchObject({ propagation: "Background", isDryRun: false });
});

test.each<[string, unknown]>([
  ["nothing", null],
  ["a list", []],
  ["no request", {}],
  ["a creation", { request: { ...request, operation: "CREATE" } }],
  ["no uid", { request: { ...request, uid: 1 } }],
  ["no object", { request: { ...request, oldObject: null } }],
  ["an object without a name", { request: { ...request, oldObject: { apiVersion: "v1", kind: "ConfigMap" } } }],
])("is not the review of a deletion: %s", (_, body) => {
  expect(readReview(body)).toBeUndefined();
});

function usage(name: string, spec: JsonObject): LiveObject {
  const metadata = { name, uid: name, resourceVersion: "1" };
  return { apiVersion: "protection.crossplane.io/v1beta1", kind: "ClusterUsage", metadata, spec };
}

test("the answer counts the usages, and names the first with its cause", () => {
  expect(answerTo("1", [])).toMatchObject({ response: { uid: "1", allowed: true } });
  const by = { apiVersion: "v1", kind: "Node", resourceRef: { name: "n" } };
  const response = { uid: "1", allowed: false };
  expect(answerTo("1", [usage("a", { by }), usage("b", {})])).toMatchObject({
    response: {
      ...response,
      status: { code: 409, message: "the object is in use by 2 usages, including ClusterUsage a by Node/n" },
    },
  });
  expect(answerTo("1", [usage("a", { reason: "x\ny" })])).toMatchObject({
    response: { status: { message: 'the object is in use by 1 usage, including ClusterUsage a with reason: "x\\ny"' } },
  });
});
