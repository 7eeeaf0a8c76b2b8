import { managedReconcilers } from "@xfn/controller";
import type { JsonObject } from "@xfn/json";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { memoryClient } from "../harness/memory-client.ts";

// ManagedResourceDefinitions and their activation, with an API server in memory.

const NAME = "buckets.example.org";
const GROUP = "apiextensions.crossplane.io/v1alpha1";
const VERSIONS = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }];
const controller = (name: string): JsonObject => ({
  apiVersion: "pkg.crossplane.io/v1",
  kind: "ProviderRevision",
  name,
  uid: name,
  controller: true,
  blockOwnerDeletion: true,
});
const provider = { apiVersion: "pkg.crossplane.io/v1", kind: "Provider", name: "p", uid: "p", controller: false };

function definition(spec: JsonObject = {}, metadata: JsonObject = {}): LiveObject {
  return {
    apiVersion: GROUP,
    kind: "ManagedResourceDefinition",
    metadata: { name: NAME, uid: "mrd", resourceVersion: "1", generation: 1, ...metadata },
    spec: {
      group: "example.org",
      names: { kind: "Bucket", plural: "buckets" },
      scope: "Cluster",
      versions: VERSIONS,
      ...spec,
    },
  };
}

function crd(metadata: JsonObject, conditions: JsonObject[] = [{ type: "Established", status: "True" }]): LiveObject {
  const { spec } = definition();
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: NAME, uid: "crd", resourceVersion: "1", generation: 1, ...metadata },
    spec: spec ?? {},
    status: { conditions },
  };
}

function policy(...activate: string[]): LiveObject {
  return {
    apiVersion: GROUP,
    kind: "ManagedResourceActivationPolicy",
    metadata: { name: "all", uid: "all", resourceVersion: "1", generation: 1 },
    spec: { activate },
  };
}

const world = (...objects: LiveObject[]) => worldWith(objects, undefined);

function worldWith(objects: readonly LiveObject[], watches: Parameters<typeof managedReconcilers>[1]) {
  const client = memoryClient(objects);
  const events: string[] = [];
  const listOf = (kind: string): LiveObject[] => [...client.objects.values()].filter((one) => one.kind === kind);
  const reads: string[] = [];
  const { get } = client;
  client.get = async (reference, options) => {
    reads.push(`${reference.kind} ${reference.name}`);
    return await get(reference, options);
  };
  const port: Parameters<typeof managedReconcilers>[0] = {
    client,
    informers: {
      acquire: () => {
        throw new TypeError("not needed");
      },
      peek: ({ kind }) => ({
        get: (name) => listOf(kind).find(({ metadata }) => metadata.name === name),
        list: () => listOf(kind),
        byIndex: () => [],
      }),
      stop: async () => {},
    },
    events: { record: (_, { reason, message }) => void events.push(`${reason}: ${message}`), flush: async () => {} },
    now: () => 0,
  };
  const reconcilers = managedReconcilers(port, watches);
  const { signal } = new AbortController();
  return {
    client,
    events,
    reads,
    reconcile: () => reconcilers.definition(NAME, signal),
    activate: () => reconcilers.policy("all", signal),
    protect: () => reconcilers.protection?.(NAME, signal),
    find: (kind: string) => listOf(kind)[0],
    established: () => {
      const status = listOf("ManagedResourceDefinition")[0]?.["status"] as { conditions: JsonObject[] } | undefined;
      const found = status?.conditions.find(({ type }) => type === "Established");
      return `${String(found?.["status"])}/${String(found?.["reason"])}: ${String(found?.["message"] ?? "")}`;
    },
  };
}

test("an inactive definition has no CRD, and is read once", async () => {
  const w = world(definition({ state: "Inactive" }));
  await w.reconcile();
  expect(w.established()).toBe("False/InactiveManagedResource: ");
  expect(w.find("CustomResourceDefinition")).toBeUndefined();
  w.reads.length = 0;
  expect(await w.reconcile()).toEqual({ settled: "again" });
  expect(w.reads).toEqual([]);
});

test("an active definition waits for its CRD, which it owns with its controller", async () => {
  const owners = [provider, controller("new")];
  const w = world(definition({ state: "Active", connectionDetails: [] }, { ownerReferences: owners }));
  await w.reconcile();
  expect(w.established()).toBe("Unknown/PendingManagedResource: ");
  const made = w.find("CustomResourceDefinition");
  expect(Object.keys((made?.["spec"] ?? {}) as object)).toEqual(["group", "names", "scope", "versions"]);
  expect(made?.metadata["ownerReferences"]).toMatchObject([
    { kind: "ManagedResourceDefinition", uid: "mrd", controller: false },
    controller("new"),
  ]);
  (made as JsonObject)["status"] = { conditions: [{ type: "Established", status: "True" }] };
  await w.reconcile();
  expect(w.established()).toBe("True/EstablishedManagedResource: ");
  w.reads.length = 0;
  expect(await w.reconcile()).toEqual({ settled: "again" });
  expect(w.reads).toEqual([]);
});

test("a changed CRD is written again", async () => {
  const w = world(definition({ state: "Active" }), crd({ ownerReferences: [{ uid: "mrd", kind: "x" }] }));
  await w.reconcile();
  const found = w.find("CustomResourceDefinition") as LiveObject;
  found.metadata["generation"] = 2;
  (found["spec"] as JsonObject)["versions"] = [];
  await w.reconcile();
  expect((w.find("CustomResourceDefinition")?.["spec"] as JsonObject)["versions"]).toEqual(VERSIONS);
});

test("control of a CRD passes from the package's earlier revision to the new one", async () => {
  const w = world(
    definition({ state: "Active" }, { ownerReferences: [provider, controller("new")] }),
    crd({ ownerReferences: [provider, controller("old")] }),
  );
  await w.reconcile();
  const owners = w.find("CustomResourceDefinition")?.metadata["ownerReferences"] as JsonObject[];
  expect(owners.map(({ name, controller }) => [name, controller])).toEqual([
    ["p", false],
    ["old", false],
    [NAME, false],
    ["new", true],
  ]);
});

test("control passes also if the schema is the same, so that no generation changes", async () => {
  const w = world(
    definition({ state: "Active" }, { ownerReferences: [provider, controller("old")] }),
    crd({ ownerReferences: [provider, controller("old")] }),
  );
  await w.reconcile();
  expect(await w.reconcile()).toEqual({ settled: "again" });
  const found = w.find("ManagedResourceDefinition") as LiveObject;
  found.metadata["ownerReferences"] = [provider, controller("new")];
  await w.reconcile();
  const owners = w.find("CustomResourceDefinition")?.metadata["ownerReferences"] as JsonObject[];
  expect(owners.filter((one) => one["controller"] === true)).toEqual([controller("new")]);
});

test("a CRD of another owner is left alone", async () => {
  const w = world(
    definition({ state: "Active" }, { ownerReferences: [provider, controller("new")] }),
    crd({ ownerReferences: [controller("another")] }),
  );
  expect(await w.reconcile()).toEqual({ requeueAfterMs: 10_000 });
  expect(w.established()).toMatch(/^False\/PendingManagedResource: .* belongs to ProviderRevision another/);
  expect(w.client.writes.map(({ object }) => object)).toEqual([`ManagedResourceDefinition/${NAME}`]);
});

test("a CRD without an owner that has objects is left alone", async () => {
  const bucket = { apiVersion: "example.org/v1", kind: "Bucket", metadata: { name: "b", uid: "b" } };
  const w = world(definition({ state: "Active" }), crd({}), bucket as unknown as LiveObject);
  await w.reconcile();
  expect(w.established()).toMatch(/there are objects of the kind Bucket/);
});

test.each(["k8s.io", "apiextensions.crossplane.io"])("no CRD is made in the group %s", async (group) => {
  const w = world(definition({ state: "Active", group }));
  await w.reconcile();
  expect(w.established()).toMatch(`the API group ${group} belongs to`);
  expect(w.find("CustomResourceDefinition")).toBeUndefined();
});

test("a refusal of the API server is a condition, and a paused definition an event", async () => {
  const w = world(definition({ state: "Active" }));
  w.client.beforeWrite = ({ verb }) => {
    if (verb === "apply") throw new ApiError("Invalid", "spec.versions: must be structural", { status: 422 });
  };
  await w.reconcile();
  expect(w.established()).toMatch(/^False\/PendingManagedResource: .*must be structural/);
  const paused = world(definition({ state: "Active" }, { annotations: { "crossplane.io/paused": "true" } }));
  await paused.reconcile();
  expect([paused.events, paused.client.writes]).toEqual([
    ["ReconciliationPaused: the annotation crossplane.io/paused pauses reconciliation"],
    [],
  ]);
});

test("a policy activates what matches, and names it", async () => {
  const w = world(definition({ state: "Inactive" }), policy("*.example.org", "none"));
  await w.activate();
  expect(w.find("ManagedResourceDefinition")?.["spec"]).toMatchObject({ state: "Active" });
  expect(w.find("ManagedResourceActivationPolicy")?.["status"]).toMatchObject({
    activated: [NAME],
    conditions: [{ type: "Healthy", status: "True", reason: "Running" }],
  });
  expect(w.events).toEqual([`ActivateManagedResourceDefinition: activated ${NAME}`]);
});

test("a pattern that is not complete is a condition with its place, and the others work", async () => {
  const w = world(definition(), policy("[", "buckets*"));
  await w.activate();
  expect(w.find("ManagedResourceActivationPolicy")?.["status"]).toMatchObject({
    activated: [NAME],
    conditions: [
      {
        status: "Unknown",
        reason: "EncounteredErrors",
        message: 'spec.activate[0]: the pattern "[" is not complete',
      },
    ],
  });
});

/** Protection of the provider `p`. @param objects the objects of the kind; undefined before they are listed */
function protection(objects: number | undefined, ...more: LiveObject[]) {
  const active = definition(
    { state: "Active" },
    {
      ownerReferences: [provider, controller("new")],
      annotations: { "apiextensions.crossplane.io/observed": "Active/1/crd/1" },
    },
  );
  const revision = {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "ProviderRevision",
    metadata: { name: "new", uid: "new", resourceVersion: "1", ownerReferences: [{ ...provider, controller: true }] },
  };
  const state = { objects, watched: [] as string[] };
  const w = worldWith([active, revision, ...more], {
    isWatched: (name) => state.watched.includes(name),
    watch: (name, { version, namespaced }) => void state.watched.push(name, `${version} ${String(namespaced)}`),
    hasObjects: () => (state.objects === undefined ? undefined : state.objects > 0),
    forget: () => void state.watched.splice(0),
  });
  return Object.assign(state, w, { usage: () => w.find("ClusterUsage") });
}

test("a provider is protected while one of its kinds has objects", async () => {
  const w = protection(undefined);
  await w.protect();
  expect([w.watched, w.usage()]).toEqual([[NAME, "v1 false"], undefined]);
  w.objects = 1;
  await w.protect();
  expect(w.usage()).toMatchObject({
    apiVersion: "protection.crossplane.io/v1beta1",
    metadata: {
      labels: {
        "crossplane.io/provider-protection": "true",
        "pkg.crossplane.io/package": "p",
        "apiextensions.crossplane.io/mrd": NAME,
      },
    },
    spec: { of: { apiVersion: "pkg.crossplane.io/v1", kind: "Provider", resourceRef: { name: "p" } } },
  });
  expect(w.usage()?.metadata.name).toMatch(/^provider-protection-[0-9a-f]{52}$/);
  const { length } = w.client.writes;
  await w.protect();
  expect(w.client.writes).toHaveLength(length);
  w.objects = 0;
  await w.protect();
  expect(w.usage()).toBeUndefined();
});

test("without its definition, a provider is protected no longer", async () => {
  const w = protection(1);
  await w.protect();
  for (const [key, { kind }] of w.client.objects)
    if (kind === "ManagedResourceDefinition") w.client.objects.delete(key);
  await w.protect();
  expect([w.watched, w.usage()]).toEqual([[], undefined]);
});
