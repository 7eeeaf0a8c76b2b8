import type { JsonObject } from "@xfn/json";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { type FakeRequests, fakeCluster } from "../../testing/fake-cluster.ts";
import { limitOf } from "./limit.ts";
import { printTree } from "./print-tree.ts";
import { readTree } from "./read-tree.ts";

const IN_USE = { labels: { "crossplane.io/in-use": "true" } };
const used = (metadata: JsonObject): LiveObject => object("v1", "ConfigMap", "used", metadata);

function object(apiVersion: string, kind: string, name: string, metadata: JsonObject = {}): LiveObject {
  return {
    apiVersion,
    kind,
    metadata: { namespace: "team", ...metadata, name, uid: name, resourceVersion: "1" },
  } as LiveObject;
}

function usage(name: string, of: JsonObject, namespace = "team"): LiveObject {
  const annotations = { "crossplane.io/usage-details": `Release/${name} uses ConfigMap/used` };
  return {
    ...object("protection.crossplane.io/v1beta1", "Usage", name, { namespace, annotations }),
    spec: { of: { apiVersion: "v1", kind: "ConfigMap", ...of } },
    status: { conditions: [{ type: "Ready", status: "True", reason: "Available" }] },
  };
}

async function trace(objects: readonly LiveObject[], requests: FakeRequests = {}): Promise<string[]> {
  const client = fakeCluster(objects, requests);
  const root = { apiVersion: "v1", kind: "ConfigMap", name: "used", namespace: "team" };
  const options = { limit: limitOf(1), signal: new AbortController().signal, secrets: false, events: false };
  const lines = printTree(await readTree(client, root, options), "wide").split("\n");
  return lines.slice(1, -1).map((line) => line.replaceAll(/ {2,}/g, " | "));
}

test("the usages of an object in use are below it, with what uses it, also those of other namespaces", async () => {
  const usages = [
    usage("inner", { resourceRef: { name: "used" } }),
    usage("outer", { resourceRef: { name: "used", namespace: "team" } }, "other"),
    usage("of-another", { resourceRef: { name: "another" } }),
    usage("of-another-kind", { kind: "Secret", resourceRef: { name: "used" } }),
    usage("of-another-group", { apiVersion: "example.org/v1", resourceRef: { name: "used" } }),
    usage("elsewhere", { resourceRef: { name: "used" } }, "other"),
  ];
  expect(await trace([used(IN_USE), ...usages])).toEqual([
    "ConfigMap/used (team) | - | -",
    "├─ Usage/inner (team) | - | True | Available: Release/inner uses ConfigMap/used",
    "└─ Usage/outer (other) | - | True | Available: Release/outer uses ConfigMap/used",
  ]);
});

test("an object whose deletion was denied says that it waits", async () => {
  const annotations = { "usage.crossplane.io/deletion-attempt-with-policy": "Background" };
  const [row] = await trace([used({ ...IN_USE, annotations })]);
  expect(row).toBe("ConfigMap/used (team) | - | - | InUse: its deletion was denied, and waits for these usages");
});

test("usages of objects that are not in use are not read, and those that cannot be read are an error", async () => {
  const list = (): Promise<never> => Promise.reject(new ApiError("Forbidden", "may not list usages", { status: 403 }));
  expect(await trace([used({})], { list })).toEqual(["ConfigMap/used (team) | - | -"]);
  expect(await trace([used(IN_USE)], { list })).toEqual([
    "ConfigMap/used (team) | - | -",
    "└─ Usage/? | - | - | Error: may not list usages",
  ]);
});
