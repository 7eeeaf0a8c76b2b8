import type { JsonObject } from "@xfn/json";
import { ApiError, type Client, type LiveObject } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { API, at, type ClaimWorld, nameOf, provideClaimWorld, ready } from "../harness/claims.ts";
import { conditionsOf } from "../harness/conditions.ts";
import { messageOf } from "../harness/definitions.ts";
import { needs } from "../harness/needs.ts";

const bound = (name: string): JsonObject => ({ resourceRef: { apiVersion: API, kind: "XThing", name } });

// How a claim is deleted, and gets its secret.
describe("a claim", needs("api-server"), () => {
  let world: ClaimWorld;
  provideClaimWorld((made) => (world = made), { defaultCompositeDeletePolicy: "Background" });

  const hold = (name: string, finalizers: string[] | null): Promise<unknown> =>
    world.patchComposite(name, { metadata: { finalizers } });

  describe("deletion", () => {
    test("is deleted before its composite with Background", async () => {
      await world.createClaim("background");
      await world.reconcileClaim("background");
      const name = nameOf(await world.compositeOf("background"));
      await hold(name, ["example.org/hold"]);
      await world.deleteClaim("background");
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
      await world.deleteClaim("foreground");
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
      await world.deleteClaim("lost");
      await world.reconcileClaim("lost");
      expect(conditionsOf(await world.claim("lost"))["Synced"]).toBe("False CompositeOfAnother");
      expect((await world.composite(name))?.metadata).not.toHaveProperty("deletionTimestamp");
    });

    test("does not delete another composite that gets the name concurrently", async () => {
      await world.createClaim("swap");
      await world.reconcileClaim("swap");
      const before = await world.compositeOf("swap");
      await world.deleteClaim("swap");
      const { client } = world.context;
      const swapping: Client = {
        ...client,
        delete: async (reference, options) => {
          await world.client.delete({ apiVersion: API, kind: "XThing", name: nameOf(before) });
          await world.createComposite(nameOf(before));
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

    test("remains while the server does not delete its composite, after any conflict", async () => {
      await world.createClaim("conflict");
      await world.reconcileClaim("conflict");
      const name = nameOf(await world.compositeOf("conflict"));
      await world.deleteClaim("conflict");
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
      await world.createComposite("unbound");
      await world.createClaim("unbound", bound("unbound"), { finalizers: ["finalizer.apiextensions.crossplane.io"] });
      await world.deleteClaim("unbound");
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
      await world.deleteClaim("ending");
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
      await world.deleteClaim("slash");
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
      const claim = await world.claim("none");
      expect(conditionsOf(claim)).toEqual({ Synced: "False NoConnectionSecret", Ready: "False Waiting" });
      expect(messageOf(claim, "Synced")).toContain("spec.writeConnectionSecretsToNamespace");
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
