import type { JsonObject, KubernetesObject } from "@xfn/json";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { beforeEach, expect, test } from "vitest";
import type { Cluster } from "../package/package-port.ts";
import { ProviderRoles } from "./provider-roles.ts";

const { signal } = new AbortController();
const crds = ["buckets.s3.org", "queues.s3.org", "vms.compute.org"];
const revision = {
  apiVersion: "pkg.crossplane.io/v1",
  kind: "ProviderRevision",
  metadata: { name: "provider-1", uid: "revision", resourceVersion: "1" },
  status: {
    capabilities: [] as string[],
    objectRefs: crds.map((name) => ({ kind: "CustomResourceDefinition", name, uid: name })),
  },
} satisfies LiveObject;
const runtime: LiveObject = {
  apiVersion: "pkg.crossplane.io/v1alpha1",
  kind: "ProviderRuntime",
  metadata: {
    name: "provider",
    uid: "runtime",
    resourceVersion: "1",
    ownerReferences: [{ name: "provider-1", uid: "revision" }],
  },
};
/** @param established the status of the condition; undefined before there is one */
const crd = (name: string, group: string, established: string | undefined, owner = "revision"): LiveObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name, uid: name, resourceVersion: "1", ownerReferences: [{ uid: owner, controller: true }] },
  spec: { group },
  status: {
    acceptedNames: { plural: name.split(".")[0] ?? "" },
    conditions: established === undefined ? [] : [{ type: "Established", status: established }],
  },
});
const store = (one: LiveObject): void => void stored.set(keyOf(one.kind, one.metadata.name), one);

const stored = new Map<string, LiveObject>();
const events: string[] = [];
let forbidden = false;
let hidden = false;
let writes = 0;
const keyOf = (kind: unknown, name: unknown): string => `${String(kind)} ${String(name)}`;
const cluster = {
  namespace: "xfn-system",
  informers: { peek: () => ({ get: (name: string) => (name === "provider-1" ? revision : undefined) }) },
  events: {
    record: (_: LiveObject, { reason, message }: { reason: string; message: string }) =>
      void events.push(`${reason}: ${message}`),
  },
  client: {
    get: async ({ kind, name }: JsonObject) => {
      if (hidden && kind === "ClusterRoleBinding") throw new ApiError("Forbidden", "cannot get resource");
      const found = stored.get(keyOf(kind, name));
      if (found === undefined) throw new ApiError("NotFound", "not found");
      return found;
    },
    apply: async (object: KubernetesObject) => {
      if (forbidden) throw new ApiError("Forbidden", "attempting to grant more rights");
      writes += 1;
      stored.set(keyOf(object.kind, object.metadata?.name), object as LiveObject);
      return object;
    },
  },
} as unknown as Cluster;

beforeEach(() => {
  stored.clear();
  for (const name of crds) store(crd(name, name.slice(name.indexOf(".") + 1), "True"));
  events.length = 0;
  forbidden = false;
  hidden = false;
  writes = 0;
});

const rulesOf = (suffix: string): JsonObject[] =>
  (stored.get(`ClusterRole crossplane:provider:provider:${suffix}`)?.["rules"] ?? []) as JsonObject[];

test("a right to read that the controller lacks is reported once, and stops nothing", async () => {
  hidden = true;
  const roles = new ProviderRoles(cluster);
  expect(await roles.ensure(runtime, "account", signal)).toEqual([]);
  await roles.ensure(runtime, "account", signal);
  expect(events).toEqual([expect.stringMatching(/^CannotGrant: .*cannot get resource; deploy deploy\/providers/)]);
  hidden = false;
  await roles.ensure(runtime, "account", signal);
  expect(writes).toBe(4);
});

test("a provider gets rights on its CRDs, and users and the controller too", async () => {
  const roles = new ProviderRoles(cluster);
  await roles.ensure(runtime, "account", signal);
  const resources = rulesOf("system").map(({ resources: found }) => found);
  expect(resources).toContainEqual(["buckets", "queues"]);
  expect(resources).toContainEqual(["vms/status"]);
  expect(JSON.stringify(rulesOf("system"))).not.toContain("*");
  expect(rulesOf("aggregate-to-view")[0]).toMatchObject({ apiGroups: ["s3.org"], verbs: ["get", "list", "watch"] });
  expect(stored.get("ClusterRole crossplane:provider:provider:aggregate-to-edit")?.metadata.labels).toMatchObject({
    "rbac.crossplane.io/aggregate-to-crossplane": "true",
  });
  const binding = stored.get("ClusterRoleBinding crossplane:provider:provider:system");
  expect(binding).toMatchObject({
    metadata: { ownerReferences: [{ uid: "runtime", controller: true }] },
    roleRef: { name: "crossplane:provider:provider:system" },
    subjects: [{ kind: "ServiceAccount", name: "account", namespace: "xfn-system" }],
  });
  expect(roles.areWritten(runtime, "account")).toBe(true);
  expect(roles.areWritten(runtime, "other")).toBe(false);
  // Another process reads them, and writes nothing.
  writes = 0;
  await new ProviderRoles(cluster).ensure(runtime, "account", signal);
  expect(writes).toBe(0);
});

test("a missing right is reported once, and used as soon as the controller has it", async () => {
  const roles = new ProviderRoles(cluster);
  forbidden = true;
  await roles.ensure(runtime, "account", signal);
  await roles.ensure(runtime, "account", signal);
  expect(events).toEqual([expect.stringMatching(/^CannotGrant: .*deploy\/providers/)]);
  expect(roles.areWritten(runtime, "account")).toBe(false);
  forbidden = false;
  await roles.ensure(runtime, "account", signal);
  expect(stored.size).toBe(crds.length + 4);
});

test("rights are those on kinds that are served for its CRDs, and follow once others are", async () => {
  store(crd("queues.s3.org", "s3.org", undefined));
  const roles = new ProviderRoles(cluster);
  expect(await roles.ensure(runtime, "account", signal)).toEqual(["queues.s3.org"]);
  expect(JSON.stringify(rulesOf("system"))).not.toContain("queues");
  expect(roles.areWritten(runtime, "account")).toBe(false);
  store(crd("queues.s3.org", "s3.org", "True"));
  expect(await roles.ensure(runtime, "account", signal)).toEqual([]);
  expect(JSON.stringify(rulesOf("aggregate-to-edit"))).toContain("queues");
  expect(roles.areWritten(runtime, "account")).toBe(true);
});

test.each<[what: string, crd: LiveObject]>([
  ["of a group of Kubernetes", crd("buckets.s3.org", "admissionregistration.k8s.io", "True")],
  ["of another owner", crd("buckets.s3.org", "s3.org", "True", "other")],
  [
    "whose names are not accepted",
    {
      ...crd("buckets.s3.org", "s3.org", "False"),
      status: { acceptedNames: { plural: "" }, conditions: [{ type: "NamesAccepted", status: "False" }] },
    },
  ],
])("a CRD %s grants nothing, even if its name matches", async (_, one) => {
  store(one);
  expect(await new ProviderRoles(cluster).ensure(runtime, "account", signal)).toEqual([]);
  for (const suffix of ["system", "aggregate-to-edit", "aggregate-to-view"]) {
    expect(JSON.stringify(rulesOf(suffix))).toContain("queues");
    expect(JSON.stringify(rulesOf(suffix))).not.toMatch(/buckets|admissionregistration/);
  }
});

test("a runtime that names the revision of another provider as its owner gets no rights", async () => {
  const thief = { ...runtime, metadata: { ...runtime.metadata, ownerReferences: [{ name: "provider-1", uid: "no" }] } };
  await new ProviderRoles(cluster).ensure(thief, "account", signal);
  expect(rulesOf("system")).toEqual([]);
});

test("a role of another owner is left alone and reported", async () => {
  const name = "crossplane:provider:provider:system";
  const role = { apiVersion: "v1", kind: "ClusterRole", metadata: { name, uid: "other", resourceVersion: "1" } };
  stored.set(keyOf(role.kind, name), role);
  await new ProviderRoles(cluster).ensure(runtime, "account", signal);
  expect(rulesOf("system")).toEqual([]);
  // Otherwise its rights would be those of the provider.
  expect(stored.has(`ClusterRoleBinding ${name}`)).toBe(false);
  expect(events).toEqual([expect.stringContaining("RoleOfAnother")]);
});

test("a provider that can start without its kinds may watch CRDs", async () => {
  const roles = new ProviderRoles(cluster);
  const role = "crossplane:provider:provider:system";
  const rule = { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"] };
  await roles.ensure(runtime, "account", signal);
  expect(stored.get(keyOf("ClusterRole", role))?.["rules"]).not.toContainEqual(expect.objectContaining(rule));
  revision.status.capabilities = ["Safe-Start"];
  try {
    expect(roles.areWritten(runtime, "account")).toBe(false);
    await roles.ensure(runtime, "account", signal);
    const verbs = ["get", "list", "watch"];
    expect(stored.get(keyOf("ClusterRole", role))?.["rules"]).toContainEqual({ ...rule, verbs });
  } finally {
    revision.status.capabilities = [];
  }
});
