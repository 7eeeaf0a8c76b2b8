import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { type CompositeWorld, provideCompositeWorld } from "../harness/composites.ts";
import { needs } from "../harness/needs.ts";

// XRs and composed resources of a backup, as restores leave them: with other UIDs, and with or without owners.

const WIDGET = { apiVersion: "things.example.org/v1", kind: "Widget" };
const RESTORED = { finalizers: ["composite.apiextensions.crossplane.io"] };
const ENTRY = { "crossplane.io/composition-resource-name": "a" };

describe("a restored composite resource", needs("api-server"), () => {
  let world: CompositeWorld;
  provideCompositeWorld((provided) => {
    world = provided;
    world.compose({ resources: [{ name: "a", base: { ...WIDGET, spec: { size: 1 } } }] });
  });

  const widget = (name: string): Promise<LiveObject | undefined> => world.find(WIDGET.apiVersion, WIDGET.kind, name);
  const createWidget = (name: string, xr: string, metadata: JsonObject = {}): Promise<LiveObject> => {
    const labels = { "crossplane.io/composite": xr };
    return world.client.create({ ...WIDGET, metadata: { name, labels, annotations: ENTRY, ...metadata } });
  };
  const widgetsOf = async (xr: string): Promise<string[]> => {
    const kind = await world.client.kind(WIDGET.apiVersion, WIDGET.kind);
    const { items } = await world.client.list(kind, { labelSelector: `crossplane.io/composite=${xr}` });
    return items.map(({ metadata }) => metadata.name);
  };
  // The garbage collector cannot look up a version that is not served. Otherwise it would delete the object.
  const formerOwner = (name: string): JsonObject => {
    const uid = "00000000-0000-0000-0000-000000000000";
    return { apiVersion: "example.org/v0", kind: "XDatabase", name, uid, controller: true };
  };

  test.each([
    ["no owner", {}],
    ["the UID of the XR in the backup as its owner", { ownerReferences: [formerOwner("owners")] }],
  ])("adopts a resource with %s, which keeps its name and UID", async (what, metadata) => {
    const name = what === "no owner" ? "plain" : "owners";
    const { metadata: before } = await createWidget(`${name}-old`, name, metadata);
    const xr = await world.create(name, { resourceRefs: [{ ...WIDGET, name: `${name}-old` }] }, RESTORED);
    world.events.length = 0;
    await world.reconcile(name);
    expect(await widgetsOf(name)).toEqual([`${name}-old`]);
    const after = await widget(`${name}-old`);
    expect(after?.metadata.uid).toBe(before.uid);
    expect(after?.metadata["ownerReferences"]).toMatchObject([{ uid: xr.metadata.uid, controller: true }]);
    expect(world.events.map(({ reason }) => reason)).toContain("AdoptResource");
    await world.reconcile(name);
    expect(world.writes()).toEqual([]);
  });

  test("creates nothing while the template of a resource is unknown", async () => {
    await createWidget("unnamed-old", "unnamed", { annotations: {} });
    await world.create("unnamed", { resourceRefs: [{ ...WIDGET, name: "unnamed-old" }] }, RESTORED);
    await expect(world.reconcile("unnamed")).rejects.toMatchObject({ code: "UnnamedResources" });
    expect(await widgetsOf("unnamed")).toEqual(["unnamed-old"]);
  });

  test("creates nothing while a recorded resource is missing, and adopts it when it is there", async () => {
    const resourceRefs = [{ ...WIDGET, name: "early-old" }];
    await world.create("early", { resourceRefs }, RESTORED);
    const message = expect.stringContaining("Widget early-old do not exist yet") as unknown;
    await expect(world.reconcile("early")).rejects.toMatchObject({ code: "RestoreIncomplete", message });
    await expect(world.reconcile("early")).rejects.toMatchObject({ code: "RestoreIncomplete" });
    expect(await widgetsOf("early")).toEqual([]);
    expect((await world.xr("early"))["spec"]).toEqual({ resourceRefs });
    await createWidget("early-old", "early");
    await world.reconcile("early");
    expect(await widgetsOf("early")).toEqual(["early-old"]);
  });

  test("waits also if the backup's managed fields were restored, until a user removes the reference", async () => {
    await world.create("velero", { resourceRefs: [{ ...WIDGET, name: "velero-old" }] });
    const reference = { apiVersion: "example.org/v1", kind: "XDatabase", name: "velero" };
    const entry = {
      manager: "xfn-controller/composite",
      operation: "Apply",
      apiVersion: "example.org/v1",
      time: "2026-01-01T00:00:00Z",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:spec": { "f:resourceRefs": {} } },
    };
    const { resourceVersion } = (await world.xr("velero")).metadata;
    await world.client.patch(reference, "merge", { metadata: { resourceVersion, managedFields: [entry] } });
    await expect(world.reconcile("velero")).rejects.toMatchObject({ code: "RestoreIncomplete" });
    await world.client.patch(reference, "merge", { spec: { resourceRefs: null } });
    await world.reconcile("velero");
    expect(await widgetsOf("velero")).toHaveLength(1);
  });

  test("differs from one whose references a user wrote, which is composed", async () => {
    await world.create("written", { resourceRefs: [{ ...WIDGET, name: "written-old" }] });
    await world.reconcile("written");
    expect(await widgetsOf("written")).toHaveLength(1);
    expect(await widget("written-old")).toBeUndefined();
  });

  test("whose resource is deleted later creates it again", async () => {
    await world.create("usual");
    await world.reconcile("usual");
    const [name = ""] = await widgetsOf("usual");
    await world.client.delete({ ...WIDGET, name });
    world.restart();
    await world.reconcile("usual");
    expect(await widgetsOf("usual")).toEqual([name]);
  });
});
