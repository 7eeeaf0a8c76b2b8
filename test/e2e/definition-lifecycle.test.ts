import { definitionReconciler } from "@xfn/controller";
import type { JsonObject, KubernetesObject } from "@xfn/functionio";
import { ApiError, connect, type LiveObject, loadKubeconfig, type Outcome } from "@xfn/kubernetes";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import {
  conditionsOf,
  type DefinitionWorld,
  definitionWorld,
  messageOf,
  thingDefinition,
} from "../harness/definitions.ts";
import { needs } from "../harness/needs.ts";

const API = "apiextensions.crossplane.io/v1";
const KIND = "CompositeResourceDefinition";
const CRD = ["apiextensions.k8s.io/v1", "CustomResourceDefinition"] as const;

describe("a definition", needs("api-server"), () => {
  let server: TestApiServer;
  let world: DefinitionWorld;
  let reconcile: ReturnType<typeof definitionReconciler>;

  beforeAll(async () => {
    server = await startApiServer({ users: ["ada"] });
    world = await definitionWorld(server);
  });
  beforeEach(() => {
    reconcile = definitionReconciler(world.context);
    world.events.length = 0;
    world.writes();
  });
  afterAll(async () => {
    await world?.stop();
    await server?.stop();
  });

  const create = (object: KubernetesObject): Promise<LiveObject> => world.client.create(object);
  const settle = (name: string): Promise<Outcome | undefined> => world.settle(reconcile, name);
  const definition = async (name: string): Promise<LiveObject | undefined> => world.find(API, KIND, name);
  const crd = (name: string): Promise<LiveObject | undefined> => world.find(...CRD, name);
  const remove = (name: string, propagationPolicy?: "Foreground" | "Orphan"): Promise<unknown> =>
    world.client.delete({ apiVersion: API, kind: KIND, name }, { propagationPolicy });
  const change = (name: string, spec: JsonObject): Promise<unknown> =>
    world.client.patch({ apiVersion: API, kind: KIND, name }, "merge", { spec });

  test("creates the CRDs of its composites and claims, reports it, and writes nothing after that", async () => {
    await create(thingDefinition());
    await settle("xthings.example.org");
    const object = await definition("xthings.example.org");
    expect(conditionsOf(object)).toEqual({
      Established: "True WatchingCompositeResource",
      Offered: "True WatchingCompositeResourceClaim",
    });
    expect((object?.["status"] as JsonObject)["controllers"]).toEqual({
      compositeResourceType: { apiVersion: "example.org/v1", kind: "XThing" },
      compositeResourceClaimType: { apiVersion: "example.org/v1", kind: "Thing" },
    });
    expect(object?.metadata["finalizers"]).toEqual([
      "defined.apiextensions.crossplane.io",
      "offered.apiextensions.crossplane.io",
    ]);
    await server.apply({
      apiVersion: "example.org/v1",
      kind: "Thing",
      metadata: { name: "a", namespace: "default" },
      spec: {},
    });
    expect(await server.kubectl(["get", "things.example.org", "a", "-o", "jsonpath={.spec.size}"])).toBe("1");
    await server.kubectl(["delete", "thing", "a"]);

    world.writes();
    await settle("xthings.example.org");
    // A new process has no memory of the writes.
    await definitionReconciler(world.context)("xthings.example.org", AbortSignal.timeout(10_000));
    expect(world.writes()).toEqual([]);
  });

  test("grants its kinds through aggregated roles", async () => {
    await create(thingDefinition({}, "grant"));
    await settle("xgrants.example.org");
    const roles = JSON.parse(await server.kubectl(["get", "clusterroles", "-o", "json"])) as {
      items: { metadata: { name: string; labels?: Record<string, string> }; rules: JsonObject[] }[];
    };
    const own = roles.items.filter(({ metadata }) =>
      metadata.name.startsWith("crossplane:composite:xgrants.example.org:"),
    );
    const granting = (label: string): JsonObject[] =>
      own.filter(({ metadata }) => metadata.labels?.[label] === "true").flatMap(({ rules }) => rules);
    expect(granting("rbac.authorization.k8s.io/aggregate-to-edit")).toEqual([
      {
        apiGroups: ["example.org"],
        resources: ["grants"],
        verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
      },
    ]);
    expect(granting("rbac.authorization.k8s.io/aggregate-to-view")).toEqual([
      { apiGroups: ["example.org"], resources: ["grants"], verbs: ["get", "list", "watch"] },
    ]);
    expect(granting("rbac.crossplane.io/aggregate-to-view").flatMap((rule) => rule["resources"])).toEqual(["xgrants"]);
  });

  test("leaves another owner's role alone, and reports it once", async () => {
    const role = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "crossplane:composite:xroles.example.org:aggregate-to-view" },
      rules: [{ apiGroups: ["other"], resources: ["others"], verbs: ["get"] }],
    };
    await create(role);
    await create(thingDefinition({}, "role"));
    await settle("xroles.example.org");
    await settle("xroles.example.org");
    expect(conditionsOf(await definition("xroles.example.org"))["Established"]).toBe("True WatchingCompositeResource");
    const reported = { type: "Warning", reason: "RoleOfAnother", message: expect.stringContaining(role.metadata.name) };
    expect(world.events.filter(({ reason }) => reason === "RoleOfAnother")).toMatchObject([reported]);
    const { apiVersion, kind, metadata } = role;
    expect(await world.find(apiVersion, kind, metadata.name)).toMatchObject({ rules: role.rules });
    expect(await world.find(apiVersion, kind, metadata.name.replace("view", "edit"))).toBeDefined();
  });

  test("works without the roles that the controller cannot grant, and reports them", async () => {
    // It can create roles, but has no access to their kinds: no client can grant more than it has.
    const apiGroups = ["apiextensions.crossplane.io", "apiextensions.k8s.io", "rbac.authorization.k8s.io"];
    const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
    const group = "rbac.authorization.k8s.io";
    const metadata = { name: "grantless" };
    await server.apply(
      { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata, rules: [{ apiGroups, resources: ["*"], verbs }] },
      {
        apiVersion: `${group}/v1`,
        kind: "ClusterRoleBinding",
        metadata,
        roleRef: { apiGroup: group, kind: "ClusterRole", name: metadata.name },
        subjects: [{ kind: "User", name: "ada" }],
      },
    );
    const client = await connect({
      access: await loadKubeconfig({ path: server.user("ada").kubeconfig }),
      fieldManager: "test",
    });
    try {
      await create(thingDefinition({}, "grantless"));
      await world.settle(definitionReconciler({ ...world.context, client }), "xgrantlesss.example.org");
      const object = await definition("xgrantlesss.example.org");
      expect(conditionsOf(object)).toMatchObject({ Established: "True WatchingCompositeResource" });
      const reported = world.events.filter(({ reason }) => reason === "CannotGrant").map(({ message }) => message);
      expect(reported).toHaveLength(4);
      expect(reported[0]).toMatch(/crossplane:composite:xgrantlesss\.example\.org:.*attempting to grant/s);
    } finally {
      await client.close();
    }
  });

  test("whose names belong to another kind of its group reports it, and works when they are free", async () => {
    const { spec } = (await crd("xthings.example.org")) as LiveObject;
    const names = { kind: "Taker", plural: "takers", singular: "taker", listKind: "TakerList", shortNames: ["tk"] };
    const [apiVersion, kind] = CRD;
    await create({
      apiVersion,
      kind,
      metadata: { name: "takers.example.org" },
      spec: { ...(spec as JsonObject), names },
    });
    await expect.poll(async () => conditionsOf(await crd("takers.example.org"))["NamesAccepted"]).toMatch("True");
    await create(thingDefinition({ names: { kind: "XNamed", plural: "xnameds", shortNames: ["tk"] } }, "named"));
    await settle("xnameds.example.org");
    const object = await definition("xnameds.example.org");
    expect(conditionsOf(object)["Established"]).toBe("False NamesNotAccepted");
    expect(messageOf(object, "Established")).toContain("tk");
    await world.client.delete({ apiVersion, kind, name: "takers.example.org" });
    const established = async (): Promise<string | undefined> => {
      await settle("xnameds.example.org");
      return conditionsOf(await definition("xnameds.example.org"))["Established"];
    };
    await expect.poll(established).toBe("True WatchingCompositeResource");
  });

  test("updates its CRDs when it changes, and restores fields that other writers changed", async () => {
    await create(thingDefinition({ metadata: { labels: { team: "a" } } }, "change"));
    await settle("xchanges.example.org");
    const { versions } = thingDefinition().spec as { versions: JsonObject[] };
    const second = { ...versions[0], name: "v2", referenceable: false };
    await change("xchanges.example.org", { versions: [...versions, second], metadata: { labels: { team: null } } });
    await settle("xchanges.example.org");
    for (const name of ["xchanges.example.org", "changes.example.org"]) {
      const object = await crd(name);
      const { versions: served } = object?.["spec"] as { versions: JsonObject[] };
      expect(served.map((one) => one["name"])).toEqual(["v1", "v2"]);
      expect(object?.metadata.labels?.["team"]).toBeUndefined();
    }
    const names = { shortNames: ["hijacked"] };
    const [apiVersion, kind] = CRD;
    await world.client.patch({ apiVersion, kind, name: "changes.example.org" }, "merge", { spec: { names } });
    await world.client.patch({ apiVersion, kind, name: "xchanges.example.org" }, "merge", {
      spec: {
        versions: [{ ...served(await crd("xchanges.example.org")), schema: { openAPIV3Schema: { type: "object" } } }],
      },
    });
    await settle("xchanges.example.org");
    expect(served(await crd("xchanges.example.org"))).toMatchObject({
      schema: { openAPIV3Schema: { properties: { spec: { properties: { size: { type: "integer" } } } } } },
    });
  });

  test("can add claims later", async () => {
    const { claimNames, ...spec } = thingDefinition({}, "later").spec;
    await create({ ...thingDefinition({}, "later"), spec });
    await settle("xlaters.example.org");
    expect(conditionsOf(await definition("xlaters.example.org"))).toEqual({
      Established: "True WatchingCompositeResource",
    });
    await change("xlaters.example.org", { claimNames: claimNames ?? null });
    await settle("xlaters.example.org");
    expect(conditionsOf(await definition("xlaters.example.org"))["Offered"]).toBe(
      "True WatchingCompositeResourceClaim",
    );
  });

  test("with errors changes nothing and reports the field; it works when it is fixed", async () => {
    const { versions } = thingDefinition().spec as { versions: JsonObject[] };
    const schema = {
      openAPIV3Schema: {
        type: "object",
        properties: { spec: { type: "object", properties: { a: { type: "text" } } } },
      },
    };
    await create(thingDefinition({ versions: [{ ...versions[0], schema }] }, "wrong"));
    await settle("xwrongs.example.org");
    const object = await definition("xwrongs.example.org");
    const field = "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.a.type";
    expect(conditionsOf(object)).toEqual({ Established: "False InvalidDefinition" });
    expect(messageOf(object, "Established")).toContain(field);
    expect(world.events).toMatchObject([{ type: "Warning", reason: "InvalidDefinition" }]);
    expect(world.events[0]?.message).toContain(field);
    expect(object?.metadata["finalizers"]).toBeUndefined();
    expect(await crd("xwrongs.example.org")).toBeUndefined();
    expect(world.writes()).toEqual(["patch compositeresourcedefinitions.apiextensions.crossplane.io"]);
    await settle("xwrongs.example.org");
    expect(world.writes()).toEqual([]);
    expect(world.events).toHaveLength(1);

    await change("xwrongs.example.org", { versions });
    await settle("xwrongs.example.org");
    expect(conditionsOf(await definition("xwrongs.example.org"))["Established"]).toBe("True WatchingCompositeResource");
  });

  test("whose CRD the server refuses reports the server's message", async () => {
    const { versions } = thingDefinition().spec as { versions: JsonObject[] };
    const spec = { type: "object", "x-kubernetes-validations": [{ rule: "self.nothing == 1" }] };
    const schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
    await create(thingDefinition({ versions: [{ ...versions[0], schema }] }, "refused"));
    await settle("xrefuseds.example.org");
    const object = await definition("xrefuseds.example.org");
    expect(conditionsOf(object)["Established"]).toBe("False CannotApplyCRD");
    expect(messageOf(object, "Established")).toContain("x-kubernetes-validations[0].rule");
    world.writes();
    await settle("xrefuseds.example.org");
    expect(world.writes().filter((write) => !write.startsWith("apply"))).toEqual([]);
  });

  test("does not overwrite another owner's CRD, and leaves it when it is deleted", async () => {
    const { spec } = (await crd("xthings.example.org")) as LiveObject;
    const foreign = {
      ...(spec as JsonObject),
      names: { kind: "Foreign", plural: "foreigns", singular: "foreign", listKind: "ForeignList" },
    };
    const [apiVersion, kind] = CRD;
    await create({ apiVersion, kind, metadata: { name: "foreigns.example.org" }, spec: foreign });
    const before = await crd("foreigns.example.org");
    await create(thingDefinition({}, "foreign"));
    await settle("xforeigns.example.org");
    const object = await definition("xforeigns.example.org");
    expect(conditionsOf(object)).toEqual({
      Established: "True WatchingCompositeResource",
      Offered: "False CRDOfAnother",
    });
    expect(messageOf(object, "Offered")).toContain("foreigns.example.org");
    const after = await crd("foreigns.example.org");
    expect(after?.["spec"]).toEqual(before?.["spec"]);
    expect(after?.metadata["ownerReferences"]).toBeUndefined();
    // The CRD of another definition.
    await create(thingDefinition({ claimNames: { kind: "Thing", plural: "things" } }, "second"));
    await settle("xseconds.example.org");
    expect(conditionsOf(await definition("xseconds.example.org"))["Offered"]).toBe("False CRDOfAnother");

    for (const name of ["xforeigns.example.org", "xseconds.example.org"]) {
      await remove(name);
      await settle(name);
      expect(await definition(name)).toBeUndefined();
      expect(await crd(name)).toBeUndefined();
    }
    expect(await crd("foreigns.example.org")).toBeDefined();
    expect(await crd("things.example.org")).toBeDefined();
  });

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

function served(crd: LiveObject | undefined): JsonObject {
  const { versions } = (crd?.["spec"] ?? {}) as { versions?: JsonObject[] };
  return versions?.[0] ?? {};
}

function owned(kind: string, name: string, uid: string): JsonObject {
  return {
    ownerReferences: [{ apiVersion: "example.org/v1", kind, name, uid, controller: true, blockOwnerDeletion: true }],
  };
}
