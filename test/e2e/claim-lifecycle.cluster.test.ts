import type { JsonObject } from "@xfn/json";
import { ApiError, type ApiErrorCode, type Client, type LiveObject } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { API, at, type ClaimWorld, nameOf, provideClaimWorld } from "../harness/claims.ts";
import { conditionsOf } from "../harness/conditions.ts";
import { messageOf } from "../harness/definitions.ts";
import { type CrashPoint, faultyClient } from "../harness/faulty-client.ts";
import { needs } from "../harness/needs.ts";

const CLAIMABLE_BY = "apiextensions.crossplane.io/claimable-by";
const bound = (name: string): JsonObject => ({ resourceRef: { apiVersion: API, kind: "XThing", name } });

// How a claim gets its composite.
describe("a claim", needs("api-server"), () => {
  let world: ClaimWorld;
  provideClaimWorld((made) => (world = made), { defaultCompositeDeletePolicy: "Background" });

  describe("binding", () => {
    test("is bound to the composite that it names, if that is unbound", async () => {
      const { metadata } = await world.createComposite("static", { region: "eu", size: 7 });
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
      await world.createComposite("late");
      await world.reconcileClaim("early");
      expect(conditionsOf(await world.claim("early"))["Synced"]).toBe("True ReconcileSuccess");
    });

    test.each<[what: string, claimableBy: string]>([
      ["to nobody", ""],
      ["to other namespaces", "other, defaults,another-default"],
    ])("does not bind a composite without a claim that is offered %s, and changes nothing of it", async (_, by) => {
      const name = `platform-${by.length}`;
      const { metadata } = await world.createComposite(name, { region: "eu" }, by);
      await world.createClaim(name, { ...bound(name), region: "us", writeConnectionSecretToRef: { name } });
      await world.reconcileClaim(name);
      const claim = await world.claim(name);
      expect(conditionsOf(claim)).toEqual({ Synced: "False CompositeNotClaimable" });
      expect(messageOf(claim, "Synced")).toContain("claims of the namespace default");
      await world.patchClaim(name, { metadata: { annotations: { [CLAIMABLE_BY]: "*" } } });
      await world.reconcileClaim(name);
      expect((await world.composite(name))?.metadata.resourceVersion).toBe(metadata.resourceVersion);
      await world.patchComposite(name, { metadata: { annotations: { [CLAIMABLE_BY]: `${by}, default` } } });
      await world.reconcileClaim(name);
      expect((await world.composite(name))?.["spec"]).toMatchObject({ region: "us", claimRef: { name } });
      // The author of the claim does not decide who may have the composite later.
      expect((await world.composite(name))?.metadata.annotations?.[CLAIMABLE_BY]).toBe(`${by}, default`);
    });

    test("is bound to a composite that names it beforehand", async () => {
      const claimRef = { apiVersion: API, kind: "Thing", namespace: "default", name: "expected" };
      await world.createComposite("reserved", { claimRef }, "");
      await world.createClaim("expected", bound("reserved"));
      await world.reconcileClaim("expected");
      expect(conditionsOf(await world.claim("expected"))["Synced"]).toBe("True ReconcileSuccess");
    });

    test("is bound to any composite without a claim if the definition offers them", async () => {
      await world.createComposite("free", {}, "");
      await world.createClaim("free", bound("free"));
      await world.reconcileClaim("free");
      expect(conditionsOf(await world.claim("free"))).toEqual({ Synced: "False CompositeNotClaimable" });
      const metadata = { name: "xthings.example.org", annotations: { [CLAIMABLE_BY]: "*" } };
      const offering = { apiVersion: "v1", kind: "CompositeResourceDefinition", metadata } as unknown as LiveObject;
      const { informers } = world.context;
      const peek: typeof informers.peek = (kind, options) =>
        kind.kind === offering.kind
          ? { get: () => offering, list: () => [offering], byIndex: () => [] }
          : informers.peek(kind, options);
      const reconcile = world.reconciler({ informers: { ...informers, peek } });
      await reconcile("default/free", AbortSignal.timeout(10_000));
      expect(conditionsOf(await world.claim("free"))["Synced"]).toBe("True ReconcileSuccess");
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
      await world.deleteClaim("thief");
      await world.reconcileClaim("thief");
      expect(await world.claim("thief")).toBeUndefined();
      expect((await world.compositeOf("owner"))?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
    });

    test("does not bind, change or delete a composite that another XR controls", async () => {
      const other = await world.createComposite("composing");
      await world.createComposite("composed", { region: "eu" });
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
      await world.deleteClaim("greedy");
      await world.reconcileClaim("greedy");
      expect(await world.claim("greedy")).toBeUndefined();
      expect((await world.composite("composed"))?.metadata["deletionTimestamp"]).toBeUndefined();
    });

    test("is one of two that ask for a composite at the same time", async () => {
      await world.createComposite("contested");
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
      ["that is not a name", { apiVersion: API, kind: "XThing", name: "../things" }],
    ])("with a reference %s reports it, and can be deleted", async (_, resourceRef) => {
      await world.createClaim("reference", { resourceRef }, { finalizers: ["finalizer.apiextensions.crossplane.io"] });
      await world.reconcileClaim("reference");
      const claim = await world.claim("reference");
      expect(conditionsOf(claim)).toEqual({ Synced: "False InvalidResourceRef" });
      expect(messageOf(claim, "Synced")).toContain("spec.resourceRef");
      await world.deleteClaim("reference");
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
          if (object.kind === "XThing") await world.createComposite(nameOf(object as LiveObject), { claimRef });
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
        await world.deleteClaim(name);
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
});
