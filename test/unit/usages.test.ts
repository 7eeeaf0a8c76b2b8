import { usageReconcilers } from "@xfn/controller";
import type { JsonObject } from "@xfn/json";
import type { LiveObject, ObjectReference } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { type MemoryClient, memoryClient } from "../harness/memory-client.ts";
import { type SteppedInformers, steppedInformers } from "../harness/stepped-informers.ts";

// Usages of one object that begin and end at the same time.

const FINALIZER = "usage.apiextensions.crossplane.io";
const USED: ObjectReference = { apiVersion: "v1", kind: "ConfigMap", name: "used", namespace: "team" };
const IN_USE = { "crossplane.io/in-use": "true" };
const DELETED = { deletionTimestamp: "2026-01-01T00:00:00Z" };

function object(apiVersion: string, kind: string, name: string, metadata: JsonObject = {}): LiveObject {
  return {
    apiVersion,
    kind,
    metadata: { name, namespace: "team", uid: name, resourceVersion: "1", ...metadata },
  } as LiveObject;
}

function usage(name: string, metadata: JsonObject = {}): LiveObject {
  const { apiVersion, kind, name: used } = USED;
  const by = { apiVersion, kind, resourceRef: { name: "using" } };
  return {
    ...object("protection.crossplane.io/v1beta1", "Usage", name, { finalizers: [FINALIZER], ...metadata }),
    spec: { of: { apiVersion, kind, resourceRef: { name: used } }, by, replayDeletion: true },
  };
}

const used = (): LiveObject =>
  object("v1", "ConfigMap", "used", {
    labels: IN_USE,
    annotations: { "usage.crossplane.io/deletion-attempt-with-policy": "Background" },
  });

interface Controller {
  readonly informers: SteppedInformers;
  reconcile(name: string): Promise<unknown>;
}

/** A controller whose caches have the objects as they are now. */
async function controllerOf(client: MemoryClient): Promise<Controller> {
  const informers = steppedInformers(client);
  const events = { record: () => undefined, flush: async () => undefined };
  const [namespaced] = usageReconcilers({ client, informers, events, now: () => 0 }, true);
  await informers.refresh();
  return {
    informers,
    reconcile: async (name) => await namespaced?.reconcile(`team/${name}`, new AbortController().signal),
  };
}

const world = (...objects: LiveObject[]): MemoryClient => memoryClient(objects, { namespaced: ["ConfigMap", "Usage"] });
const names = (client: MemoryClient): string[] => [...client.objects.values()].map(({ metadata }) => metadata.name);

test("the denied deletion is repeated if all usages of an object end at the same time", async () => {
  const client = world(used(), usage("a", DELETED), usage("b", DELETED));
  const { reconcile } = await controllerOf(client);
  await reconcile("a");
  expect(names(client)).not.toContain("used");
  await reconcile("b");
  expect(names(client)).toEqual([]);
});

test("an object keeps its label, and is not deleted, if a usage begins while another one ends", async () => {
  const client = world(used(), usage("old", DELETED), object("v1", "ConfigMap", "using"));
  const { informers, reconcile } = await controllerOf(client);
  const { patch } = client;
  client.patch = async (reference, ...rest) => {
    const patched = await patch(reference, ...rest);
    if (reference.name !== USED.name || names(client).includes("new")) return patched;
    // The reconcile of the new usage found the label before.
    const one = usage("new");
    client.objects.set("new", one);
    await informers.refresh();
    return patched;
  };
  await reconcile("old");
  expect(names(client).toSorted()).toEqual(["new", "used", "using"]);
  expect((await client.get(USED)).metadata.labels).toEqual(IN_USE);
});

test("an object is not deleted while a usage protects it that the caches do not have", async () => {
  const client = world(used(), usage("old", DELETED), object("v1", "ConfigMap", "using"));
  const { reconcile } = await controllerOf(client);
  client.objects.set("new", usage("new"));
  await reconcile("old");
  expect(names(client).toSorted()).toEqual(["new", "used", "using"]);
  expect((await client.get(USED)).metadata.labels).toEqual(IN_USE);
});

test("a second controller with older caches changes nothing after a usage has ended", async () => {
  const client = world(used(), usage("a", DELETED), usage("b"), object("v1", "ConfigMap", "using"));
  const [first, second] = [await controllerOf(client), await controllerOf(client)];
  await first.reconcile("a");
  const { length } = client.writes;
  await second.reconcile("a");
  expect(client.writes).toHaveLength(length);
  expect((await client.get(USED)).metadata.labels).toEqual(IN_USE);
});
