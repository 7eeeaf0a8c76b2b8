import { definitionReconciler } from "@xfn/controller";
import type { JsonObject } from "@xfn/json";
import { ApiError, type Outcome } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { conditionsOf } from "../harness/conditions.ts";
import {
  type DefinitionTools,
  definitionWorld,
  messageOf,
  provideDefinitionTools,
  thingDefinition,
} from "../harness/definitions.ts";
import { needs } from "../harness/needs.ts";

// How a definition is deleted, with its instances and CRDs.
describe("a definition", needs("api-server"), () => {
  let server: DefinitionTools["server"];
  let world: DefinitionTools["world"];
  let reconcile: DefinitionTools["reconcile"];
  let create: DefinitionTools["create"];
  let settle: DefinitionTools["settle"];
  let definition: DefinitionTools["definition"];
  let crd: DefinitionTools["crd"];
  let remove: DefinitionTools["remove"];
  provideDefinitionTools((tools) => ({ server, world, reconcile, create, settle, definition, crd, remove } = tools));

  test("deletes its claims, then its composites, then the CRDs", async () => {
    await create(thingDefinition({}, "end"));
    await settle("xends.example.org");
    const kind = { apiVersion: "example.org/v1" };
    const finalizers = ["example.org/hold"];
    await create({ ...kind, kind: "End", metadata: { name: "c", namespace: "default", finalizers }, spec: {} });
    await create({ ...kind, kind: "XEnd", metadata: { name: "x", finalizers }, spec: {} });
    await remove("xends.example.org");
    const look = (): Promise<Outcome | undefined> => world.look(reconcile, "xends.example.org");
    const release = (name: string, of: string, namespace?: string): Promise<unknown> =>
      world.client.patch({ ...kind, kind: of, name, namespace }, "merge", { metadata: { finalizers: null } });

    await look();
    await look();
    const claim = await world.find("example.org/v1", "End", "c", "default");
    expect(claim?.metadata["deletionTimestamp"]).toBeDefined();
    const composite = await world.find("example.org/v1", "XEnd", "x");
    expect(composite?.metadata).not.toHaveProperty("deletionTimestamp");
    const waiting = await definition("xends.example.org");
    expect(conditionsOf(waiting)["Established"]).toBe("False TerminatingCompositeResource");
    expect(messageOf(waiting, "Established")).toContain("1 ends");

    await release("c", "End", "default");
    while ((await crd("ends.example.org")) !== undefined) await look();
    await look();
    await look();
    expect((await world.find("example.org/v1", "XEnd", "x"))?.metadata["deletionTimestamp"]).toBeDefined();
    expect((await crd("xends.example.org"))?.metadata).not.toHaveProperty("deletionTimestamp");

    await release("x", "XEnd");
    await settle("xends.example.org");
    expect(await definition("xends.example.org")).toBeUndefined();
    expect(await crd("xends.example.org")).toBeUndefined();
  });

  test("does not delete the CRD of a kind that the server does not list yet", async () => {
    let listed = false;
    const other = await definitionWorld(server, {
      wrap: (client) => ({
        ...client,
        list: (kind, options) =>
          listed || kind.plural !== "xmoments"
            ? client.list(kind, options)
            : Promise.reject(new ApiError("KindNotServed", "list xmoments: 404 page not found", { status: 404 })),
      }),
    });
    const reconcileOther = definitionReconciler(other.context);
    const { claimNames: _, ...spec } = thingDefinition({}, "moment").spec;
    await create({ ...thingDefinition({}, "moment"), spec });
    await other.settle(reconcileOther, "xmoments.example.org");
    await create({ apiVersion: "example.org/v1", kind: "XMoment", metadata: { name: "x" }, spec: {} });
    await remove("xmoments.example.org");
    for (let looks = 0; looks < 3; looks++) {
      expect(await other.look(reconcileOther, "xmoments.example.org")).toMatchObject({
        requeueAfterMs: expect.any(Number),
      });
    }
    expect((await crd("xmoments.example.org"))?.metadata).not.toHaveProperty("deletionTimestamp");
    expect((await world.find("example.org/v1", "XMoment", "x"))?.metadata).not.toHaveProperty("deletionTimestamp");
    listed = true;
    await other.settle(reconcileOther, "xmoments.example.org");
    expect(await definition("xmoments.example.org")).toBeUndefined();
    await other.stop();
  });

  test("reports instances that the server refuses to delete, and is deleted when it can be", async () => {
    let refuses = true;
    const other = await definitionWorld(server, {
      wrap: (client) => ({
        ...client,
        delete: (reference, options) =>
          refuses && reference.kind === "XBlocked"
            ? Promise.reject(new ApiError("Forbidden", 'xblockeds.example.org "x" is forbidden', { status: 403 }))
            : client.delete(reference, options),
      }),
    });
    const reconcileOther = definitionReconciler(other.context);
    const { claimNames: _, ...spec } = thingDefinition({}, "blocked").spec;
    await create({ ...thingDefinition({}, "blocked"), spec });
    await other.settle(reconcileOther, "xblockeds.example.org");
    await create({ apiVersion: "example.org/v1", kind: "XBlocked", metadata: { name: "x" }, spec: {} });
    await remove("xblockeds.example.org");
    other.events.length = 0;
    for (let looks = 0; looks < 2; looks++)
      await expect(other.look(reconcileOther, "xblockeds.example.org")).rejects.toThrow("forbidden");
    const blocked = await definition("xblockeds.example.org");
    expect(conditionsOf(blocked)["Established"]).toBe("False TerminatingCompositeResource");
    expect(messageOf(blocked, "Established")).toBe(
      'its composites cannot be deleted: xblockeds.example.org "x" is forbidden',
    );
    expect(other.events).toMatchObject([{ type: "Warning", reason: "TerminatingCompositeResource" }]);
    refuses = false;
    await other.settle(reconcileOther, "xblockeds.example.org");
    expect(await definition("xblockeds.example.org")).toBeUndefined();
    await other.stop();
  });

  test("that is deleted in the foreground deletes its instances in the foreground", async () => {
    await create(thingDefinition({}, "fore"));
    await settle("xfores.example.org");
    await create({ apiVersion: "example.org/v1", kind: "XFore", metadata: { name: "x" }, spec: {} });
    const dependent = {
      ...owned("XFore", "x", (await world.find("example.org/v1", "XFore", "x"))?.metadata.uid ?? ""),
    };
    await create({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "d", namespace: "default", ...dependent } });
    // A dependent that remains blocks the deletion of its owner.
    await world.client.patch({ apiVersion: "v1", kind: "ConfigMap", name: "d", namespace: "default" }, "merge", {
      metadata: { finalizers: ["example.org/hold"] },
    });
    await server.restartControllerManager();
    await remove("xfores.example.org", "Foreground");
    for (let look = 0; look < 5; look++) {
      await world.look(reconcile, "xfores.example.org");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const blocked = await world.find("example.org/v1", "XFore", "x");
    expect(blocked?.metadata["deletionTimestamp"]).toBeDefined();
    expect(await definition("xfores.example.org")).toBeDefined();
    await world.client.patch({ apiVersion: "v1", kind: "ConfigMap", name: "d", namespace: "default" }, "merge", {
      metadata: { finalizers: null },
    });
    while ((await definition("xfores.example.org")) !== undefined) {
      await world.look(reconcile, "xfores.example.org");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(await crd("xfores.example.org")).toBeUndefined();
  });

  test("that is deleted with orphans leaves CRDs and instances, and adopts them when it is created again", async () => {
    await create(thingDefinition({}, "orphan"));
    await settle("xorphans.example.org");
    const { metadata } = await create({
      apiVersion: "example.org/v1",
      kind: "XOrphan",
      metadata: { name: "x" },
      spec: {},
    });
    await remove("xorphans.example.org", "Orphan");
    while ((await definition("xorphans.example.org")) !== undefined) {
      await world.look(reconcile, "xorphans.example.org");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const kept = await crd("xorphans.example.org");
    expect(kept?.metadata).not.toHaveProperty("deletionTimestamp");
    expect(kept?.metadata["ownerReferences"] ?? []).toEqual([]);
    const { claimNames: _, ...spec } = thingDefinition({}, "orphan").spec;
    await create({ ...thingDefinition({}, "orphan"), spec });
    await settle("xorphans.example.org");
    expect(conditionsOf(await definition("xorphans.example.org"))["Established"]).toBe(
      "True WatchingCompositeResource",
    );
    expect((await world.find("example.org/v1", "XOrphan", "x"))?.metadata.uid).toBe(metadata.uid);
  });
});

function owned(kind: string, name: string, uid: string): JsonObject {
  return {
    ownerReferences: [{ apiVersion: "example.org/v1", kind, name, uid, controller: true, blockOwnerDeletion: true }],
  };
}
