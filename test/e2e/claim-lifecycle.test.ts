import type { JsonObject } from "@xfn/functionio";
import { ApiError, type ApiErrorCode, type Client, type LiveObject } from "@xfn/kubernetes";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { at, type ClaimWorld, claimWorld, ready } from "../harness/claims.ts";
import { conditionsOf, messageOf } from "../harness/definitions.ts";
import { type CrashPoint, faultyClient } from "../harness/faulty-client.ts";
import { needs } from "../harness/needs.ts";

const API = "example.org/v1";
const nameOf = (object: LiveObject | undefined): string => object?.metadata.name ?? "";

// How a claim gets its composite and its secret, and how it is deleted.
describe("a claim", needs("api-server"), () => {
  let server: TestApiServer;
  let world: ClaimWorld;

  beforeAll(async () => {
    server = await startApiServer();
    world = await claimWorld(server, { defaultCompositeDeletePolicy: "Background" });
  });
  beforeEach(() => {
    world.events.length = 0;
    world.writes();
  });
  afterAll(async () => {
    await world?.stop();
    await server?.stop();
  });

  const bound = (name: string): JsonObject => ({ resourceRef: { apiVersion: API, kind: "XThing", name } });
  const createComposite = (name: string, spec: JsonObject = {}): Promise<LiveObject> =>
    world.client.create({ apiVersion: API, kind: "XThing", metadata: { name }, spec });
  const remove = (name: string): Promise<unknown> =>
    world.client.delete({ apiVersion: API, kind: "Thing", name, namespace: "default" });
  const hold = (name: string, finalizers: string[] | null): Promise<unknown> =>
    world.patchComposite(name, { metadata: { finalizers } });

  describe("binding", () => {
    test("is bound to the composite that it names, if that is unbound", async () => {
      const { metadata } = await createComposite("static", { region: "eu", size: 7 });
      await world.createClaim("static", { ...bound("static"), region: "us" });
      await world.reconcileClaim("static");
      const composite = await world.composite("static");
      expect(composite?.metadata.uid).toBe(metadata.uid);
      expect(composite?.["spec"]).toMatchObject({ region: "us", claimRef: { name: "static", namespace: "default" } });
      expect(conditionsOf(await world.claim("static"))["Synced"]).toBe("True ReconcileSuccess");
    });

    test("waits for a missing composite that it names, and does not create it", async () => {
      await world.createClaim("early", bound("late"));
      await world.reconcileClaim("early");
      expect(conditionsOf(await world.claim("early"))).toEqual({ Synced: "False CompositeNotFound" });
      expect(await world.composite("late")).toBeUndefined();
      await createComposite("late");
      await world.reconcileClaim("early");
      expect(conditionsOf(await world.claim("early"))["Synced"]).toBe("True ReconcileSuccess");
    });

    test("does not bind the composite of another claim, and leaves it alone when it is deleted", async () => {
      await world.createClaim("owner", { size: 5 });
      await world.reconcileClaim("owner");
      const before = await world.compositeOf("owner");
      await world.createClaim("thief", { ...bound(nameOf(before)), size: 6 });
      await world.reconcileClaim("thief");
      const thief = await world.claim("thief");
      expect(conditionsOf(thief)).toEqual({ Synced: "False CompositeOfAnother" });
      expect(messageOf(thief, "Synced")).toContain(nameOf(before));
      expect(world.events.at(-1)).toMatchObject({ type: "Warning", reason: "CompositeOfAnother" });
      world.writes();
      await world.reconcileClaim("thief");
      expect(world.writes()).toEqual([]);
      await remove("thief");
      await world.reconcileClaim("thief");
      expect(await world.claim("thief")).toBeUndefined();
      expect((await world.compositeOf("owner"))?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
    });

    test("does not bind, change or delete a composite that another XR controls", async () => {
      const other = await createComposite("composing");
      await createComposite("composed", { region: "eu" });
      const { apiVersion, kind, metadata } = other;
      const controller = { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true };
      await world.patchComposite("composed", { metadata: { ownerReferences: [controller] } });
      const expectRefusal = async (): Promise<void> => {
        await world.reconcileClaim("greedy");
        const claim = await world.claim("greedy");
        expect(conditionsOf(claim)).toEqual({ Synced: "False CompositeOfAnother" });
        expect(messageOf(claim, "Synced")).toContain("is controlled by the XThing composing");
        expect((await world.composite("composed"))?.["spec"]).toMatchObject({ region: "eu" });
      };
      await world.createClaim("greedy", { ...bound("composed"), region: "us" });
      await expectRefusal();
      // A claim reference from before the composite was composed changes nothing.
      const claimRef = { apiVersion: API, kind: "Thing", namespace: "default", name: "greedy" };
      await world.patchComposite("composed", { spec: { claimRef } });
      await world.patchClaim("greedy", { metadata: { finalizers: ["finalizer.apiextensions.crossplane.io"] } });
      await expectRefusal();
      await remove("greedy");
      await world.reconcileClaim("greedy");
      expect(await world.claim("greedy")).toBeUndefined();
      expect((await world.composite("composed"))?.metadata["deletionTimestamp"]).toBeUndefined();
    });

    test("is one of two that ask for a composite at the same time", async () => {
      await createComposite("contested");
      for (const name of ["first", "second"]) await world.createClaim(name, bound("contested"));
      const { client } = world.context;
      // The second claim binds the composite after the first found it unbound.
      const racing: Client = {
        ...client,
        apply: async (object, options) => {
          await world.lookAt("second");
          return client.apply(object, options);
        },
      };
      const looked = world.reconciler({ client: racing })("default/first", AbortSignal.timeout(10_000));
      await expect(looked).rejects.toMatchObject({ code: "Conflict" });
      expect(at(await world.composite("contested"), "spec", "claimRef")["name"]).toBe("second");
      await world.reconcileClaim("first");
      expect(conditionsOf(await world.claim("first"))["Synced"]).toBe("False CompositeOfAnother");
      expect(conditionsOf(await world.claim("second"))["Synced"]).toBe("True ReconcileSuccess");
    });

    test.each<[what: string, reference: JsonObject]>([
      ["to another kind", { apiVersion: "v1", kind: "Namespace", name: "default" }],
      ["that is no name", { apiVersion: API, kind: "XThing", name: "../things" }],
    ])("with a reference %s reports it, and can be deleted", async (_, resourceRef) => {
      await world.createClaim("reference", { resourceRef }, { finalizers: ["finalizer.apiextensions.crossplane.io"] });
      await world.reconcileClaim("reference");
      const claim = await world.claim("reference");
      expect(conditionsOf(claim)).toEqual({ Synced: "False InvalidResourceRef" });
      expect(messageOf(claim, "Synced")).toContain("spec.resourceRef");
      await remove("reference");
      await world.reconcileClaim("reference");
      expect(await world.claim("reference")).toBeUndefined();
    });

    test("gets its composite again, under the same name, after it was deleted", async () => {
      await world.createClaim("again", { size: 4 });
      await world.reconcileClaim("again");
      const before = await world.compositeOf("again");
      await world.client.delete({ apiVersion: API, kind: "XThing", name: nameOf(before) });
      await world.reconcileClaim("again");
      const after = await world.compositeOf("again");
      expect(nameOf(after)).toBe(nameOf(before));
      expect(after?.["spec"]).toMatchObject({ size: 4 });
    });

    test("does not bind another claim's composite if a stale cache shows it as its own or not at all", async () => {
      await world.createClaim("stale");
      await world.reconcileClaim("stale");
      const before = await world.compositeOf("stale");
      const name = nameOf(before);
      await world.patchComposite(name, { spec: { claimRef: { name: "other" } } });
      await world.patchClaim("stale", { spec: { size: 8 } });
      const kind = await world.client.kind(API, "XThing");
      world.cache(kind, before === undefined ? [] : [before]);
      const look = (): Promise<unknown> => world.reconciler()("default/stale", AbortSignal.timeout(10_000));
      await expect(look()).rejects.toMatchObject({ code: "Conflict" });
      world.cache(kind, []);
      await look();
      world.cache(kind, undefined);
      expect(at(await world.composite(name), "spec", "claimRef")["name"]).toBe("other");
      expect(conditionsOf(await world.claim("stale"))["Synced"]).toBe("False CompositeOfAnother");
    });

    test.each<[what: string, code: ApiErrorCode, synced: string | undefined]>([
      ["refuses", "Forbidden", "False ReconcileError"],
      ["does not take", "Invalid", "False ReconcileError"],
      ["is too busy for", "Busy", undefined],
    ])("whose composite the server %s retries, and reports a new problem once", async (_, code, synced) => {
      const name = `refused-${code.toLowerCase()}`;
      await world.createClaim(name);
      const { client } = world.context;
      const refusing: Client = { ...client, apply: () => Promise.reject(new ApiError(code, `xthings: ${code}`)) };
      const reconcile = world.reconciler({ client: refusing });
      for (let time = 0; time < 2; time++) {
        await expect(reconcile(`default/${name}`, AbortSignal.timeout(10_000))).rejects.toMatchObject({ code });
      }
      expect(conditionsOf(await world.claim(name))["Synced"]).toBe(synced);
      expect(world.events).toHaveLength(synced === undefined ? 0 : 1);
      await world.reconcileClaim(name);
      expect(conditionsOf(await world.claim(name))["Synced"]).toBe("True ReconcileSuccess");
    });

    test("leaves an object alone that another client creates concurrently under its composite's name", async () => {
      await world.createClaim("race", { size: 2 });
      await world.patchClaim("race", { metadata: { labels: { a: "b" } } });
      const claimRef = { apiVersion: API, kind: "Thing", namespace: "other", name: "other" };
      const { client } = world.context;
      const racing: Client = {
        ...client,
        apply: async (object, options) => {
          if (object.kind === "XThing") await createComposite(nameOf(object as LiveObject), { claimRef });
          return client.apply(object, options);
        },
      };
      const looked = world.reconciler({ client: racing })("default/race", AbortSignal.timeout(10_000));
      await expect(looked).rejects.toMatchObject({ code: "Conflict" });
      expect((await world.compositeOf("race"))?.["spec"]).toEqual({ size: 1, claimRef });
      await world.reconcileClaim("race");
      expect(conditionsOf(await world.claim("race"))["Synced"]).toBe("False CompositeOfAnother");
    });

    test.each<CrashPoint>(["before", "after-commit", "after-reply"])(
      "has one composite wherever its controller crashed %s a write",
      async (point) => {
        const name = `crash-${point}`;
        await world.createClaim(name, { size: 2 });
        for (let write = 1; write <= 4; write++) {
          const faulty = faultyClient(world.context.client, ({ number }) =>
            number === write ? { kind: "crash", point } : undefined,
          );
          const reconcile = world.reconciler({ client: faulty.client });
          await Promise.race([reconcile(`default/${name}`, AbortSignal.timeout(10_000)), faulty.crashed]);
          await faulty.drained();
        }
        await world.reconcileClaim(name);
        const composites = await world.compositesOf(name);
        expect(composites.map(nameOf)).toEqual([nameOf(await world.compositeOf(name))]);
        await remove(name);
        for (let write = 1; write <= 3; write++) {
          const faulty = faultyClient(world.context.client, ({ number }) =>
            number === write ? { kind: "crash", point } : undefined,
          );
          const reconcile = world.reconciler({ client: faulty.client });
          await Promise.race([reconcile(`default/${name}`, AbortSignal.timeout(10_000)), faulty.crashed]);
          await faulty.drained();
        }
        await world.reconcileClaim(name);
        expect(await world.claim(name)).toBeUndefined();
        expect(await world.compositesOf(name)).toEqual([]);
      },
    );
  });

  describe("deletion", () => {
    test("is deleted before its composite with Background", async () => {
      await world.createClaim("background");
      await world.reconcileClaim("background");
      const name = nameOf(await world.compositeOf("background"));
      await hold(name, ["example.org/hold"]);
      await remove("background");
      await world.reconcileClaim("background");
      expect(await world.claim("background")).toBeUndefined();
      expect((await world.composite(name))?.metadata["deletionTimestamp"]).toBeDefined();
      await hold(name, null);
    });

    test("waits for its composite with Foreground, and reports it", async () => {
      await world.createClaim("foreground", { compositeDeletePolicy: "Foreground" });
      await world.reconcileClaim("foreground");
      const name = nameOf(await world.compositeOf("foreground"));
      await hold(name, ["example.org/hold"]);
      await remove("foreground");
      await world.lookAt("foreground");
      await world.lookAt("foreground");
      const claim = await world.claim("foreground");
      expect(conditionsOf(claim)["Ready"]).toBe("False Deleting");
      expect(messageOf(claim, "Ready")).toContain(name);
      expect((await world.composite(name))?.metadata["finalizers"]).toContain("foregroundDeletion");
      await hold(name, null);
      while ((await world.composite(name)) !== undefined) await new Promise((resolve) => setTimeout(resolve, 50));
      await world.reconcileClaim("foreground");
      expect(await world.claim("foreground")).toBeUndefined();
    });

    test("does not delete its composite if that has lost its claim reference", async () => {
      await world.createClaim("lost");
      await world.reconcileClaim("lost");
      const name = nameOf(await world.compositeOf("lost"));
      await world.patchComposite(name, { spec: { claimRef: null } });
      await remove("lost");
      await world.reconcileClaim("lost");
      expect(conditionsOf(await world.claim("lost"))["Synced"]).toBe("False CompositeOfAnother");
      expect((await world.composite(name))?.metadata).not.toHaveProperty("deletionTimestamp");
    });

    test("does not delete another composite that gets the name concurrently", async () => {
      await world.createClaim("swap");
      await world.reconcileClaim("swap");
      const before = await world.compositeOf("swap");
      await remove("swap");
      const { client } = world.context;
      const swapping: Client = {
        ...client,
        delete: async (reference, options) => {
          await world.client.delete({ apiVersion: API, kind: "XThing", name: nameOf(before) });
          await createComposite(nameOf(before));
          return client.delete(reference, options);
        },
      };
      await world.reconciler({ client: swapping })("default/swap", AbortSignal.timeout(10_000));
      const after = await world.composite(nameOf(before));
      expect(after?.metadata.uid).toMatch(/-/);
      expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
      expect(after?.metadata).not.toHaveProperty("deletionTimestamp");
      expect(await world.claim("swap")).toBeUndefined();
    });

    test("remains while the server does not delete its composite, whatever the conflict", async () => {
      await world.createClaim("conflict");
      await world.reconcileClaim("conflict");
      const name = nameOf(await world.compositeOf("conflict"));
      await remove("conflict");
      const conflict = new ApiError("Conflict", "try again", { status: 409, reason: "Conflict" });
      const refusing: Client = { ...world.context.client, delete: () => Promise.reject(conflict) };
      const reconcile = world.reconciler({ client: refusing });
      await expect(reconcile("default/conflict", AbortSignal.timeout(10_000))).rejects.toBe(conflict);
      expect((await world.claim("conflict"))?.metadata["finalizers"]).toHaveLength(1);
      await world.reconcileClaim("conflict");
      expect(await world.claim("conflict")).toBeUndefined();
      expect(await world.composite(name)).toBeUndefined();
    });

    test("leaves a composite alone that it was never bound to", async () => {
      await createComposite("unbound");
      await world.createClaim("unbound", bound("unbound"), { finalizers: ["finalizer.apiextensions.crossplane.io"] });
      await remove("unbound");
      await world.reconcileClaim("unbound");
      expect(await world.claim("unbound")).toBeUndefined();
      expect((await world.composite("unbound"))?.metadata).not.toHaveProperty("deletionTimestamp");
    });
  });

  describe("connection secret", () => {
    const secret = (name: string): Promise<LiveObject | undefined> => world.find("v1", "Secret", name, "default");
    const withSecret = async (name: string, spec: JsonObject = {}): Promise<LiveObject> => {
      await world.createClaim(name, { writeConnectionSecretToRef: { name: `${name}-details` }, ...spec });
      await world.reconcileClaim(name);
      const composite = await world.compositeOf(name);
      await world.patchComposite(nameOf(composite), {
        spec: { writeConnectionSecretToRef: { name: `${name}-source`, namespace: "kube-system" } },
      });
      return world.setStatus(nameOf(composite), ready());
    };
    const publish = (name: string, composite: LiveObject, data: JsonObject, owned = true): Promise<LiveObject> => {
      const { uid } = composite.metadata;
      const owner = { apiVersion: API, kind: "XThing", name: nameOf(composite), uid, controller: true };
      return world.client.apply({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: `${name}-source`, namespace: "kube-system", ...(owned && { ownerReferences: [owner] }) },
        type: "connection.crossplane.io/v1alpha1",
        data,
      });
    };

    test("is copied when the composite is ready, updated, and not written again", async () => {
      const composite = await withSecret("secret");
      await publish("secret", composite, { user: "YQ==", password: "Yg==" });
      await world.reconcileClaim("secret");
      const copy = await secret("secret-details");
      expect(copy).toMatchObject({
        type: "connection.crossplane.io/v1alpha1",
        data: { user: "YQ==", password: "Yg==" },
        metadata: { ownerReferences: [{ kind: "Thing", name: "secret", controller: true }] },
      });
      const claim = await world.claim("secret");
      expect(conditionsOf(claim)["Ready"]).toBe("True Available");
      expect(at(claim, "status", "connectionDetails")["lastPublishedTime"]).toMatch(/Z$/);
      world.writes();
      await world.reconcileClaim("secret");
      expect(world.writes()).toEqual([]);
      await publish("secret", composite, { user: "Yw==" });
      await world.reconcileClaim("secret");
      expect((await secret("secret-details"))?.["data"]).toEqual({ user: "Yw==" });
      await world.client.delete({ apiVersion: "v1", kind: "Secret", name: "secret-details", namespace: "default" });
      await world.reconcileClaim("secret");
      expect((await secret("secret-details"))?.["data"]).toEqual({ user: "Yw==" });
      expect(JSON.stringify(world.events)).not.toMatch(/YQ==|Yg==|Yw==/);
    });

    // The garbage collector no longer finds the claim after its definition has removed its kind.
    test("is deleted before its claim goes", async () => {
      const composite = await withSecret("ending");
      await publish("ending", composite, { user: "YQ==" });
      await world.reconcileClaim("ending");
      expect(await secret("ending-details")).toBeDefined();
      const ours = (await world.claim("ending"))?.metadata["finalizers"] as string[];
      await world.patchClaim("ending", { metadata: { finalizers: [...ours, "example.org/hold"] } });
      await remove("ending");
      await world.lookAt("ending");
      expect((await world.claim("ending"))?.metadata["finalizers"]).toEqual(["example.org/hold"]);
      expect(await secret("ending-details")).toBeUndefined();
      await world.patchClaim("ending", { metadata: { finalizers: null } });
    });

    test("with an invalid name is reported, and the claim can be deleted", async () => {
      const composite = await withSecret("slash", { writeConnectionSecretToRef: { name: "a/b" } });
      await publish("slash", composite, { user: "YQ==" });
      await world.reconcileClaim("slash");
      expect(conditionsOf(await world.claim("slash"))["Synced"]).toBe("False SecretRefused");
      await remove("slash");
      await world.lookAt("slash");
      expect(await world.claim("slash")).toBeUndefined();
    });

    test("is not copied from a secret that the composite does not control", async () => {
      const composite = await withSecret("foreign");
      await publish("foreign", composite, { root: "YQ==" }, false);
      await world.reconcileClaim("foreign");
      expect(await secret("foreign-details")).toBeUndefined();
      expect(conditionsOf(await world.claim("foreign"))["Synced"]).toBe("False SecretOfAnother");
    });

    test("does not overwrite a secret that the claim does not control", async () => {
      const theirs = { apiVersion: "v1", kind: "Secret", metadata: { name: "victim-details", namespace: "default" } };
      const before = await world.client.create({ ...theirs, data: { mine: "YQ==" } });
      const composite = await withSecret("victim");
      await publish("victim", composite, { root: "Yg==" });
      await world.reconcileClaim("victim");
      expect((await secret("victim-details"))?.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
      const claim = await world.claim("victim");
      expect(conditionsOf(claim)["Synced"]).toBe("False SecretOfAnother");
      expect(messageOf(claim, "Synced")).not.toContain("Yg==");
      await world.client.delete({ apiVersion: "v1", kind: "Secret", name: "victim-details", namespace: "default" });
      await world.reconcileClaim("victim");
      expect(conditionsOf(await world.claim("victim"))).toMatchObject({
        Synced: "True ReconcileSuccess",
        Ready: "True Available",
      });
    });

    test("that does not exist yet is waited for", async () => {
      await withSecret("waiting");
      await world.reconcileClaim("waiting");
      expect(conditionsOf(await world.claim("waiting"))).toEqual({
        Synced: "False SecretNotFound",
        Ready: "False Waiting",
      });
    });

    test("that the composite cannot have is reported", async () => {
      await world.createClaim("none", { writeConnectionSecretToRef: { name: "none-details" } });
      await world.reconcileClaim("none");
      await world.setStatus(nameOf(await world.compositeOf("none")), ready());
      await world.reconcileClaim("none");
      expect(conditionsOf(await world.claim("none"))["Ready"]).toBe("True Available");
      await world.reconcileClaim("none");
      expect(world.events.filter(({ reason }) => reason === "NoConnectionSecret")).toHaveLength(1);
    });

    test("in an external store is reported as unsupported", async () => {
      await world.createClaim("external", { publishConnectionDetailsTo: { name: "external-details" } });
      await world.reconcileClaim("external");
      await world.setStatus(nameOf(await world.compositeOf("external")), ready());
      await world.reconcileClaim("external");
      await world.reconcileClaim("external");
      expect(world.events.filter(({ message }) => message.includes("publishConnectionDetailsTo"))).toHaveLength(1);
    });
  });
});
