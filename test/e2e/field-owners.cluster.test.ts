import { composedManager, FIELD_MANAGERS } from "@xfn/controller";
import { type JsonObject, objectAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { type CompositeWorld, provideCompositeWorld } from "../harness/composites.ts";
import { needs } from "../harness/needs.ts";

// Objects pass between this controller, its older versions and Crossplane, which own fields under different names.

const XR = { apiVersion: "example.org/v1", kind: "XDatabase" };
const WIDGET = { apiVersion: "things.example.org/v1", kind: "Widget" };
const OF_REFERENCES = "apiextensions.crossplane.io/composite";

describe("the owners of fields", needs("api-server"), () => {
  let world: CompositeWorld;
  provideCompositeWorld((provided) => {
    world = provided;
  });

  const compose = (spec: JsonObject, connectionDetails: JsonObject[] = []): void =>
    world.compose({
      resources: [
        {
          name: "a",
          connectionDetails,
          base: { ...WIDGET, spec },
          patches: [{ type: "FromCompositeFieldPath", fromFieldPath: "metadata.name", toFieldPath: "metadata.name" }],
        },
      ],
    });
  const widget = async (name: string): Promise<LiveObject> => {
    const found = await world.find(WIDGET.apiVersion, WIDGET.kind, name);
    if (found === undefined) throw new Error(`there is no Widget ${name}`);
    return found;
  };
  /** `manager operation subresource` of each entry. */
  const owners = ({ metadata }: LiveObject): string[] =>
    (metadata["managedFields"] as JsonObject[]).map(({ manager, operation, subresource = "" }) =>
      [manager, operation, subresource].join(" ").trim(),
    );
  const rename = async (object: LiveObject, from: string, to: string): Promise<unknown> => {
    const managedFields = (object.metadata["managedFields"] as JsonObject[]).map((entry) =>
      entry["manager"] === from ? { ...entry, manager: to } : entry,
    );
    const { apiVersion, kind, metadata } = object;
    return await world.client.patch({ apiVersion, kind, name: metadata.name }, "merge", {
      metadata: { managedFields },
    });
  };

  test("have Crossplane's names on composed resources and in the status, and our own on XRs", async () => {
    compose({ size: 1 });
    const xr = await world.create("names");
    await world.reconcile("names");
    expect(owners(await widget("names"))).toEqual([`${composedManager(xr)} Apply`]);
    const own = [`${OF_REFERENCES} Apply status`, `${FIELD_MANAGERS.xr} Apply`];
    expect(owners(await world.xr("names"))).toEqual(expect.arrayContaining(own));
    expect(owners(await world.xr("names"))).not.toContain(`${OF_REFERENCES} Apply`);
  });

  test("of an older version are replaced once, without a change of content", async () => {
    compose({ size: 1, labels: { later: "dropped" } });
    const xr = await world.create("older");
    await world.reconcile("older");
    await rename(await world.xr("older"), FIELD_MANAGERS.xr, OF_REFERENCES);
    await rename(await widget("older"), composedManager(xr), "apiextensions.crossplane.io/composed");
    const before = { xr: await world.xr("older"), widget: await widget("older") };
    world.restart();
    world.requests();
    await world.reconcile("older");
    expect(world.writes()).toEqual(["patch xdatabases.example.org", "patch widgets.things.example.org"]);
    const after = { xr: await world.xr("older"), widget: await widget("older") };
    expect(owners(after.widget)).toEqual([`${composedManager(xr)} Apply`]);
    expect(owners(after.xr)).not.toContain(`${OF_REFERENCES} Apply`);
    for (const one of ["xr", "widget"] as const) {
      expect(after[one]["spec"]).toEqual(before[one]["spec"]);
      expect(after[one].metadata["generation"]).toEqual(before[one].metadata["generation"]);
    }
    await world.reconcile("older");
    expect(world.writes()).toEqual([]);
    compose({ size: 1 });
    await world.reconcile("older");
    expect((await widget("older"))["spec"]).toEqual({ size: 1 });
  });

  test("of Crossplane's core are continued: nothing is created again, and its removed fields go", async () => {
    compose({ size: 1 });
    const xr = await world.create("core");
    const { name, uid } = xr.metadata;
    const owner = { ...XR, name, uid, controller: true, blockOwnerDeletion: true };
    const created = await world.client.apply(
      {
        ...WIDGET,
        metadata: {
          name,
          labels: { "crossplane.io/composite": name },
          annotations: { "crossplane.io/composition-resource-name": "a" },
          ownerReferences: [owner],
        },
        spec: { size: 1, labels: { removed: "in our Composition" } },
      },
      { fieldManager: composedManager(xr) },
    );
    const resourceRefs = [{ ...WIDGET, name }];
    await world.client.apply({ ...XR, metadata: { name }, spec: { resourceRefs } }, { fieldManager: OF_REFERENCES });
    await world.client.patch(
      { ...XR, name },
      "merge",
      {
        metadata: {
          finalizers: ["composite.apiextensions.crossplane.io"],
          labels: { "crossplane.io/composite": name },
        },
      },
      { fieldManager: "crossplane" },
    );
    await world.reconcile("core");
    const after = await widget("core");
    expect(after.metadata.uid).toBe(created.metadata.uid);
    expect(after["spec"]).toEqual({ size: 1 });
    expect(objectAt(await world.xr("core"), "spec")["resourceRefs"]).toEqual(resourceRefs);
    world.requests();
    await world.reconcile("core");
    expect(world.writes()).toEqual([]);
  });

  test("let Crossplane's core continue: an XR keeps its pin, and a field that a template drops goes", async () => {
    compose({ size: 1, labels: { dropped: "by core" } });
    const xr = await world.create("back", { compositionUpdatePolicy: "Manual" });
    await world.reconcile("back");
    const before = objectAt(await world.xr("back"), "spec");
    expect(before["compositionRevisionRef"]).toBeDefined();
    const { resourceRefs } = before;
    // Crossplane applies no other field of an XR.
    await world.client.apply({ ...XR, metadata: { name: "back" }, spec: { resourceRefs } } as JsonObject, {
      fieldManager: OF_REFERENCES,
    });
    expect((await world.xr("back"))["spec"]).toEqual(before);
    const { labels, annotations, ownerReferences } = (await widget("back")).metadata;
    const metadata = { name: "back", labels, annotations, ownerReferences };
    await world.client.apply({ ...WIDGET, metadata, spec: { size: 1 } } as JsonObject, {
      fieldManager: composedManager(xr),
    });
    expect((await widget("back"))["spec"]).toEqual({ size: 1 });
  });

  // A removed time leaves `connectionDetails: null`, which the API server refuses with the whole status.
  test("let Crossplane's core apply the status of an XR with a connection secret", async () => {
    compose({ size: 1 }, [{ name: "user", type: "FromValue", value: "ada" }]);
    const name = "published";
    const writeConnectionSecretToRef = { name, namespace: "default" };
    await world.create(name, { writeConnectionSecretToRef });
    await world.reconcile(name);
    const details = async (): Promise<JsonObject> => objectAt(await world.xr(name), "status", "connectionDetails");
    const published = await details();
    expect(published).toHaveProperty("lastPublishedTime");
    const conditions = objectAt(await world.xr(name), "status")["conditions"];
    const status = { conditions, connectionDetails: published } as JsonObject;
    const asCore = { fieldManager: OF_REFERENCES, subresource: "status", force: true } as const;
    await world.client.apply({ ...XR, metadata: { name }, status: { conditions } } as JsonObject, asCore);
    expect(await details()).toEqual(published);
    // Older versions of this controller applied the time too, and were its only owner.
    const older = await world.client.apply({ ...XR, metadata: { name }, status }, asCore);
    const managedFields = (older.metadata["managedFields"] as JsonObject[]).filter(
      ({ operation, subresource }) => operation === "Apply" || subresource !== "status",
    );
    await world.client.patch({ ...XR, name }, "merge", { metadata: { managedFields } });
    world.restart();
    await world.reconcile(name);
    await world.client.apply({ ...XR, metadata: { name }, status: { conditions } } as JsonObject, asCore);
    expect(await details()).toEqual(published);
    await world.reconcile(name);
    world.requests();
    await world.reconcile(name);
    expect(world.writes()).toEqual([]);
  });
});
