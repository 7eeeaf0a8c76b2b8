import type { JsonObject } from "@xfn/json";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { type FakeRequests, fakeCluster } from "../../testing/fake-cluster.ts";
import { diagnoseCluster } from "./diagnose-cluster.ts";

const object = (apiVersion: string, kind: string, name: string, more: JsonObject = {}): LiveObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace: "team", uid: name, resourceVersion: "1" },
  ...more,
});

const USED = object("v1", "ConfigMap", "used");
USED.metadata.labels = { "crossplane.io/in-use": "true" };
const USAGE = object("protection.crossplane.io/v1beta1", "Usage", "u", {
  spec: { of: { apiVersion: "v1", kind: "ConfigMap", resourceRef: { name: "used" } } },
});
const SERVICE = { webhooks: [{ clientConfig: { service: { name: "xfn-controller", namespace: "xfn" } } }] };
const CONFIGURATION = object(
  "admissionregistration.k8s.io/v1",
  "ValidatingWebhookConfiguration",
  "crossplane-no-usages",
);
delete CONFIGURATION.metadata.namespace;

const slice = (ready: boolean): LiveObject =>
  object("discovery.k8s.io/v1", "EndpointSlice", "s", { endpoints: [{ conditions: { ready } }] });

async function diagnose(objects: readonly LiveObject[], requests: FakeRequests = {}): Promise<string[]> {
  const checks = await diagnoseCluster(fakeCluster(objects, requests));
  return checks.map(
    ({ id, status, detail, remedy }) => `${status} ${id}: ${detail}${remedy === undefined ? "" : " ->"}`,
  );
}

const failing = (code: ConstructorParameters<typeof ApiError>[0], message: string) => (): Promise<never> =>
  Promise.reject(new ApiError(code, message, { status: 500 }));

test("a cluster without usages has nothing to check", async () => {
  expect(await diagnose([], { list: failing("KindNotServed", "no such kind") })).toEqual([
    "info usages: the cluster does not serve Usage and ClusterUsage",
  ]);
});

test("a missing webhook is wrong if there are usages", async () => {
  const detail = "crossplane-no-usages is missing: deletions of objects in use are not denied ->";
  expect(await diagnose([USED, USAGE])).toEqual([expect.stringContaining("ok usages"), `fail webhook: ${detail}`]);
  expect(await diagnose([])).toEqual([expect.stringContaining("ok usages"), `info webhook: ${detail}`]);
});

test.each([
  ["denies", failing("Denied", "denied the request"), "ok webhook: denies the deletion of ConfigMap team/used"],
  ["does not answer", failing("ServerError", "failed calling webhook"), "fail webhook: failed calling webhook ->"],
  ["may not be asked", failing("Forbidden", "may not delete"), "info webhook: not asked: may not delete"],
])("a webhook that %s", async (_, remove, expected) => {
  const checks = await diagnose([USED, USAGE, CONFIGURATION], { delete: remove });
  expect(checks.at(-1)).toBe(expected);
});

test("a webhook that allows the deletion of an object in use is wrong, and nothing is deleted", async () => {
  const checks = await diagnose([USED, USAGE, CONFIGURATION]);
  expect(checks.at(-1)).toBe("fail webhook: the deletion of ConfigMap team/used, which is in use, is not denied ->");
});

test("without an object in use, the pods of the Service decide", async () => {
  const configuration = { ...CONFIGURATION, ...SERVICE };
  expect((await diagnose([configuration, slice(true)])).slice(1)).toEqual([
    "ok webhook-pods: Service xfn/xfn-controller has 1 ready",
    "info webhook: configured; no object is in use, so that it cannot be asked",
  ]);
  expect((await diagnose([configuration, slice(false)]))[1]).toBe(
    "fail webhook-pods: Service xfn/xfn-controller has no ready pods ->",
  );
});
