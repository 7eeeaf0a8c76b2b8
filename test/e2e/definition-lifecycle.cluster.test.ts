import { definitionReconciler } from "@xfn/controller";
import type { JsonObject } from "@xfn/json";
import { connect, type LiveObject, loadKubeconfig } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { conditionsOf } from "../harness/conditions.ts";
import { type DefinitionTools, messageOf, provideDefinitionTools, thingDefinition } from "../harness/definitions.ts";
import { needs } from "../harness/needs.ts";

const API = "apiextensions.crossplane.io/v1";
const KIND = "CompositeResourceDefinition";
const CLUSTER_ROLE_KIND = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
};
const CRD = ["apiextensions.k8s.io/v1", "CustomResourceDefinition"] as const;

describe("a definition", needs("api-server"), () => {
  let server: DefinitionTools["server"];
  let world: DefinitionTools["world"];
  let create: DefinitionTools["create"];
  let settle: DefinitionTools["settle"];
  let definition: DefinitionTools["definition"];
  let crd: DefinitionTools["crd"];
  let remove: DefinitionTools["remove"];
  provideDefinitionTools((tools) => ({ server, world, create, settle, definition, crd, remove } = tools));

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

  test("reports instances that cannot be listed, until they can", async () => {
    await create(thingDefinition({}, "unlisted"));
    await settle("xunlisteds.example.org");
    const problem = "xunlisteds.example.org is forbidden";
    let problems: object = { composites: problem };
    const seeing = definitionReconciler({ ...world.context, instanceProblems: () => problems });
    const outcome = await seeing("xunlisteds.example.org", AbortSignal.timeout(10_000));
    expect(outcome?.requeueAfterMs).toBeLessThanOrEqual(10_000);
    expect(conditionsOf(await definition("xunlisteds.example.org"))).toEqual({
      Established: "False CannotWatch",
      Offered: "True WatchingCompositeResourceClaim",
    });
    expect(messageOf(await definition("xunlisteds.example.org"), "Established")).toContain(problem);
    problems = {};
    await seeing("xunlisteds.example.org", AbortSignal.timeout(10_000));
    expect(conditionsOf(await definition("xunlisteds.example.org"))).toMatchObject({
      Established: "True WatchingCompositeResource",
    });
  });

  test("is established before its roles are written, if those are deferred", async () => {
    await create(thingDefinition({}, "deferred"));
    let deferralMs = 30_000;
    const bursts = { report: () => undefined, deferralMs: () => deferralMs, forget: () => undefined };
    const deferring = definitionReconciler({ ...world.context, bursts });
    const roles = async () =>
      (await world.client.list(CLUSTER_ROLE_KIND)).items
        .map(({ metadata }) => metadata.name)
        .filter((name) => name.startsWith("crossplane:composite:xdeferreds."));
    await expect
      .poll(async () => {
        const outcome = await deferring("xdeferreds.example.org", AbortSignal.timeout(10_000));
        return outcome?.requeueAfterMs;
      })
      .toBe(deferralMs);
    expect(conditionsOf(await definition("xdeferreds.example.org"))).toMatchObject({
      Established: "True WatchingCompositeResource",
    });
    expect(await roles()).toEqual([]);
    deferralMs = 0;
    await deferring("xdeferreds.example.org", AbortSignal.timeout(10_000));
    expect(await roles()).toHaveLength(4);
  });

  test("is established with schemas that Kubernetes accepts and other checks do not", async () => {
    const port = { type: "integer", "x-kubernetes-int-or-string": true };
    const spec = { type: "object", default: { port: {} }, properties: { port } };
    const schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
    await create(thingDefinition({ versions: [{ name: "v1", served: true, referenceable: true, schema }] }, "lenient"));
    await settle("xlenients.example.org");
    expect(conditionsOf(await definition("xlenients.example.org"))).toEqual({
      Established: "True WatchingCompositeResource",
      Offered: "True WatchingCompositeResourceClaim",
    });
    const metadata = { name: "a", namespace: "default" };
    await server.apply({ apiVersion: "example.org/v1", kind: "Lenient", metadata, spec: { port: "10%" } });
    await server.kubectl(["delete", "lenient", "a"]);
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
    // The server deletes a CRD once it can list the instances from its cache, which begins with the first request for
    // the kind. It tries again ever more rarely: on a busy machine, after a minute.
    const instances = "/apis/example.org/v1/takers?resourceVersion=0";
    await expect.poll(() => world.client.raw("GET", instances)).toMatchObject({ items: [] });
    await create(thingDefinition({ names: { kind: "XNamed", plural: "xnameds", shortNames: ["tk"] } }, "named"));
    await settle("xnameds.example.org");
    const object = await definition("xnameds.example.org");
    expect(conditionsOf(object)["Established"]).toBe("False NamesNotAccepted");
    expect(messageOf(object, "Established")).toContain("tk");
    await world.client.delete({ apiVersion, kind, name: "takers.example.org" });
    // All of it is in the message of a failure: it tells whether the names are free, and whether the server saw that.
    const state = async (): Promise<JsonObject> => {
      await settle("xnameds.example.org");
      const [taker, named] = [await crd("takers.example.org"), await crd("xnameds.example.org")];
      const finalizers = taker?.metadata["finalizers"] ?? null;
      return {
        taker: taker === undefined ? "gone" : { finalizers, ...conditionsOf(taker) },
        named: conditionsOf(named),
        definition: conditionsOf(await definition("xnameds.example.org"))["Established"] ?? "",
      };
    };
    await expect.poll(state).toMatchObject({ taker: "gone", definition: "True WatchingCompositeResource" });
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
    // Its users get no rights on the kind of another owner.
    const roles = (await server.kubectl(["get", "clusterroles", "-o", "name"])).match(/xforeigns\.example\.org:\S+/g);
    expect(roles).toEqual(["xforeigns.example.org:aggregate-to-edit", "xforeigns.example.org:aggregate-to-view"]);
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
});

function served(crd: LiveObject | undefined): JsonObject {
  const { versions } = (crd?.["spec"] ?? {}) as { versions?: JsonObject[] };
  return versions?.[0] ?? {};
}
