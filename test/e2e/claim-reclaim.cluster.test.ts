import type { JsonObject } from "@xfn/json";
import { type Client, isApiError, type LiveObject } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { API, at, type ClaimWorld, nameOf, provideClaimWorld, ready } from "../harness/claims.ts";
import { conditionsOf } from "../harness/conditions.ts";
import { needs } from "../harness/needs.ts";

const bound = (name: string): JsonObject => ({ resourceRef: { apiVersion: API, kind: "XThing", name } });

describe("the composite of a deleted claim", needs("api-server"), () => {
  let world: ClaimWorld;
  provideClaimWorld((made) => (world = made), { defaultCompositeDeletePolicy: "Background" });

  /** Creates a composite and a claim of the same name, and binds them. */
  const claimExisting = async (name: string, spec: JsonObject = {}, given: JsonObject = {}): Promise<LiveObject> => {
    const composite = await world.createComposite(name, { size: 7, ...given });
    await world.createClaim(name, { ...bound(name), ...spec });
    await world.reconcileClaim(name);
    return composite;
  };
  const end = async (name: string): Promise<void> => {
    await world.deleteClaim(name);
    await world.reconcileClaim(name);
  };
  const policyOf = async (name: string): Promise<unknown> => at(await world.composite(name), "spec")["reclaimPolicy"];
  const isGone = (composite: LiveObject | undefined): boolean =>
    composite === undefined || composite.metadata["deletionTimestamp"] !== undefined;

  test("is retained if it existed before the claim, and belongs to no claim any more", async () => {
    const { metadata } = await claimExisting("kept", { size: 9, region: "us" });
    expect(at(await world.composite("kept"), "spec")).toMatchObject({ size: 9, reclaimPolicy: "Retain" });
    world.events.length = 0;
    await end("kept");
    expect(await world.claim("kept")).toBeUndefined();
    const after = await world.composite("kept");
    expect(after?.metadata.uid).toBe(metadata.uid);
    expect(after?.metadata).not.toHaveProperty("deletionTimestamp");
    expect(after?.metadata).not.toHaveProperty("labels");
    expect(after?.["spec"]).toEqual({ size: 9, region: "us", reclaimPolicy: "Retain" });
    expect(world.events).toMatchObject([
      { about: "XThing kept", reason: "Released", type: "Normal" },
      { about: "Thing kept", reason: "Released", type: "Normal" },
    ]);
  });

  test("can be claimed again, and the next claim changes only what it sets", async () => {
    await claimExisting("again", { address: "10.0.0.1", region: "us" });
    await end("again");
    await world.createClaim("next", { ...bound("again"), region: "eu" });
    await world.reconcileClaim("next");
    expect(at(await world.composite("again"), "spec")).toMatchObject({
      address: "10.0.0.1",
      region: "eu",
      reclaimPolicy: "Retain",
      claimRef: { name: "next" },
    });
    expect(at(await world.claim("next"), "spec")["address"]).toBe("10.0.0.1");
    await end("next");
    expect(isGone(await world.composite("again"))).toBe(false);
  });

  test("is deleted if a user's reclaim policy says so", async () => {
    await claimExisting("deleted", {}, { reclaimPolicy: "Delete" });
    expect(await policyOf("deleted")).toBe("Delete");
    await end("deleted");
    expect(isGone(await world.composite("deleted"))).toBe(true);
  });

  test("is deleted if it was created for the claim", async () => {
    await world.createClaim("dynamic");
    await world.reconcileClaim("dynamic");
    const name = nameOf(await world.compositeOf("dynamic"));
    expect(await policyOf(name)).toBe("Delete");
    await end("dynamic");
    expect(isGone(await world.composite(name))).toBe(true);
  });

  test("is retained if a user says so, even if it was created for the claim", async () => {
    await world.createClaim("precious");
    await world.reconcileClaim("precious");
    const name = nameOf(await world.compositeOf("precious"));
    await world.patchComposite(name, { spec: { reclaimPolicy: "Retain" } });
    await world.reconcileClaim("precious");
    expect(await policyOf(name)).toBe("Retain");
    await end("precious");
    expect(await world.claim("precious")).toBeUndefined();
    const released = await world.composite(name);
    expect(isGone(released)).toBe(false);
    // Claims of other namespaces must not get its connection details.
    expect(released?.metadata.annotations?.["apiextensions.crossplane.io/claimable-by"]).toBe("default");
    await world.createClaim("heir", bound(name));
    await world.reconcileClaim("heir");
    expect(conditionsOf(await world.claim("heir"))["Synced"]).toBe("True ReconcileSuccess");
  });

  test("does not wait for anything with Foreground if it is retained", async () => {
    await claimExisting("foreground", { compositeDeletePolicy: "Foreground" });
    await world.deleteClaim("foreground");
    await world.lookAt("foreground");
    expect(await world.claim("foreground")).toBeUndefined();
    expect(isGone(await world.composite("foreground"))).toBe(false);
  });

  test("that was created for the claim and released stays if a crash follows", async () => {
    await world.createClaim("crash");
    await world.reconcileClaim("crash");
    const name = nameOf(await world.compositeOf("crash"));
    await world.patchComposite(name, { spec: { reclaimPolicy: "Retain" } });
    await world.deleteClaim("crash");
    const { client } = world.context;
    const crash = new Error("crash");
    const crashing: Client = {
      ...client,
      patch: (reference, ...rest) =>
        reference.kind === "Thing" ? Promise.reject(crash) : client.patch(reference, ...rest),
    };
    const reconcile = world.reconciler({ client: crashing });
    await expect(reconcile("default/crash", AbortSignal.timeout(10_000))).rejects.toBe(crash);
    expect(at(await world.composite(name), "spec")["claimRef"]).toBeUndefined();
    await world.reconcileClaim("crash");
    expect(await world.claim("crash")).toBeUndefined();
    expect(isGone(await world.composite(name))).toBe(false);
  });

  test("stays with another claim that was bound after it was read", async () => {
    await claimExisting("raced");
    await world.deleteClaim("raced");
    const { client } = world.context;
    const rebound: Client = {
      ...client,
      patch: async (reference, ...rest) => {
        if (reference.kind === "XThing") {
          const claimRef = { apiVersion: API, kind: "Thing", namespace: "default", name: "winner" };
          await world.patchComposite("raced", { spec: { claimRef } });
        }
        return client.patch(reference, ...rest);
      },
    };
    const refused = world.reconciler({ client: rebound })("default/raced", AbortSignal.timeout(10_000));
    expect(isApiError(await refused.catch((error: unknown) => error), "Conflict")).toBe(true);
    await world.reconcileClaim("raced");
    expect(await world.claim("raced")).toBeUndefined();
    expect(at(await world.composite("raced"), "spec", "claimRef")["name"]).toBe("winner");
  });

  test("stays with a later claim of the same name", async () => {
    const { metadata } = await claimExisting("namesake", {}, { reclaimPolicy: "Delete" });
    const first = await world.claim("namesake");
    await world.patchClaim("namesake", { metadata: { finalizers: null } });
    await world.deleteClaim("namesake");
    await world.createClaim("namesake", bound("namesake"));
    await world.reconcileClaim("namesake");
    const deleted = { ...first, metadata: { ...first?.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    world.cache({ group: "example.org", version: "v1", kind: "Thing", plural: "things", namespaced: true }, [
      deleted as LiveObject,
    ]);
    await world.look(world.reconciler(), "default/namesake");
    world.cache({ group: "example.org", version: "v1", kind: "Thing", plural: "things", namespaced: true }, undefined);
    const after = await world.composite("namesake");
    expect(after?.metadata.uid).toBe(metadata.uid);
    expect(isGone(after)).toBe(false);
    expect(at(after, "spec", "claimRef")["uid"]).toBe((await world.claim("namesake"))?.metadata.uid);
  });

  test("is retained if the claim is another one of the name for which it was created", async () => {
    await world.createClaim("reborn");
    await world.reconcileClaim("reborn");
    const name = nameOf(await world.compositeOf("reborn"));
    await world.patchClaim("reborn", { metadata: { finalizers: null } });
    await world.deleteClaim("reborn");
    // Times have seconds.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await world.createClaim("reborn", bound(name));
    await world.reconcileClaim("reborn");
    expect(await policyOf(name)).toBe("Retain");
    await end("reborn");
    expect(isGone(await world.composite(name))).toBe(false);
  });

  test.each(["Delete", "Retain"])("keeps the policy %s after a restore from a backup, in any order", async (policy) => {
    const name = `restored-${policy.toLowerCase()}`;
    // The restored claim has another UID than the reference, and the composite is younger.
    const claimRef = { apiVersion: API, kind: "Thing", namespace: "default", name, uid: "before" };
    const finalizers = ["finalizer.apiextensions.crossplane.io"];
    const recorded = { ...bound(`${name}-main`), compositeDeletePolicy: "Background" };
    await world.createClaim(name, recorded, { finalizers });
    const composite = { apiVersion: API, kind: "XThing", metadata: { name: `${name}-main` } };
    const spec = { claimRef, reclaimPolicy: policy };
    await world.client.apply({ ...composite, spec }, { fieldManager: "apiextensions.crossplane.io/claim" });
    await world.reconcileClaim(name);
    expect(await policyOf(`${name}-main`)).toBe(policy);
    await end(name);
    expect(isGone(await world.composite(`${name}-main`))).toBe(policy === "Delete");
  });

  test.each([
    ["Delete", "taken-x7f2k", "Crossplane created it for the claim"],
    ["Retain", "legacy", "its name shows that it was not created for the claim"],
  ])("has the policy %s if %s was bound without one: %s", async (policy, name) => {
    const claim = name.split("-")[0] ?? "";
    await world.createClaim(claim, bound(name));
    const claimRef = { apiVersion: API, kind: "Thing", namespace: "default", name: claim };
    await world.createComposite(name, { claimRef });
    await world.reconcileClaim(claim);
    expect(await policyOf(name)).toBe(policy);
    await end(claim);
    expect(isGone(await world.composite(name))).toBe(policy === "Delete");
  });

  test("is retained if a user created it after the claim", async () => {
    await world.createClaim("early", bound("early-1"));
    await world.createComposite("early-1");
    await world.reconcileClaim("early");
    expect(await policyOf("early-1")).toBe("Retain");
    await end("early");
    expect(isGone(await world.composite("early-1"))).toBe(false);
  });

  test("loses the claim's copy of its connection secret, and a warning says that the details are known", async () => {
    const composite = await claimExisting("secret", { writeConnectionSecretToRef: { name: "secret-details" } });
    const { uid } = composite.metadata;
    const source = { name: "secret-source", namespace: "kube-system" };
    await world.patchComposite("secret", { spec: { writeConnectionSecretToRef: source } });
    await world.setStatus("secret", ready());
    await world.client.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        ...source,
        ownerReferences: [{ apiVersion: API, kind: "XThing", name: "secret", uid, controller: true }],
      },
      type: "connection.crossplane.io/v1alpha1",
      data: { password: "Yg==" },
    });
    await world.reconcileClaim("secret");
    expect(await world.find("v1", "Secret", "secret-details", "default")).toBeDefined();
    await end("secret");
    expect(await world.find("v1", "Secret", "secret-details", "default")).toBeUndefined();
    expect(await world.find("v1", "Secret", source.name, source.namespace)).toBeDefined();
    const released = world.events.find(({ about, reason }) => about === "XThing secret" && reason === "Released");
    expect(released).toMatchObject({ type: "Warning" });
    expect(released?.message).toContain("kube-system/secret-source");
  });

  test("has a reclaim policy that claims cannot set", async () => {
    await world.createClaim("sly", { reclaimPolicy: "Retain" });
    await world.reconcileClaim("sly");
    const name = nameOf(await world.compositeOf("sly"));
    expect(await policyOf(name)).toBe("Delete");
    world.writes();
    await world.reconcileClaim("sly");
    expect(world.writes()).toEqual([]);
  });
});
