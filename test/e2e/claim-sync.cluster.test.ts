import type { JsonObject } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { at, type ClaimWorld, nameOf, provideClaimWorld, ready } from "../harness/claims.ts";
import { conditionsOf } from "../harness/conditions.ts";
import { needs } from "../harness/needs.ts";

// The fields that are copied from a claim to its composite and back.
describe("a claim", needs("api-server"), () => {
  let world: ClaimWorld;
  provideClaimWorld((made) => (world = made));

  test("gets a composite with its spec and labels in three writes, and no further ones", async () => {
    await world.createClaim(
      "one",
      { size: 3, region: "eu" },
      { labels: { team: "a" }, annotations: { "example.org/x": "y" } },
    );
    await world.lookAt("one");
    expect(world.writes()).toEqual([
      "patch things.example.org",
      "apply xthings.example.org",
      "patch things.example.org",
    ]);
    const claim = await world.claim("one");
    const composite = await world.compositeOf("one");
    expect(composite?.metadata).toMatchObject({
      labels: { team: "a", "crossplane.io/claim-name": "one", "crossplane.io/claim-namespace": "default" },
      annotations: { "example.org/x": "y" },
    });
    expect(nameOf(composite)).toMatch(/^one-[0-9a-f]{12}$/);
    expect(composite?.["spec"]).toEqual({
      size: 3,
      region: "eu",
      reclaimPolicy: "Delete",
      claimRef: {
        apiVersion: "example.org/v1",
        kind: "Thing",
        namespace: "default",
        name: "one",
        uid: claim?.metadata.uid,
      },
    });
    expect(claim?.["spec"]).toMatchObject({
      compositeDeletePolicy: "Background",
      resourceRef: { apiVersion: "example.org/v1", kind: "XThing", name: nameOf(composite) },
    });
    expect(claim?.metadata["finalizers"]).toEqual(["finalizer.apiextensions.crossplane.io"]);
    expect(conditionsOf(claim)).toEqual({ Synced: "True ReconcileSuccess", Ready: "False Waiting" });
    await world.reconcileClaim("one");
    // A new process has no memory of the writes.
    await world.reconciler()("default/one", AbortSignal.timeout(10_000));
    expect(world.writes()).toEqual([]);
  });

  test("has its composite's status, and is ready when that is", async () => {
    await world.createClaim("status");
    await world.reconcileClaim("status");
    const name = nameOf(await world.compositeOf("status"));
    await world.setStatus(name, { address: "10.0.0.1", count: 2 });
    await world.reconcileClaim("status");
    expect((await world.claim("status"))?.["status"]).toMatchObject({ address: "10.0.0.1", count: 2 });
    await world.setStatus(name, ready({ count: null }));
    await world.reconcileClaim("status");
    const claim = await world.claim("status");
    expect(conditionsOf(claim)).toEqual({ Synced: "True ReconcileSuccess", Ready: "True Available" });
    expect(at(claim, "status")["count"]).toBeUndefined();
    world.writes();
    await world.reconcileClaim("status");
    expect(world.writes()).toEqual([]);
  });

  test("changes its composite when it changes, and removes the fields that it loses", async () => {
    await world.createClaim("change", { size: 3, options: { a: "1", b: "2" } }, { labels: { team: "a" } });
    await world.reconcileClaim("change");
    await world.patchClaim("change", {
      metadata: { labels: { team: null, stage: "prod" } },
      spec: { size: 4, options: { b: null } },
    });
    await world.reconcileClaim("change");
    const composite = await world.compositeOf("change");
    expect(composite?.["spec"]).toMatchObject({ size: 4, options: { a: "1" } });
    expect(at(composite, "spec", "options")).toEqual({ a: "1" });
    expect(composite?.metadata.labels).toMatchObject({ stage: "prod" });
    expect(composite?.metadata.labels?.["team"]).toBeUndefined();
  });

  test("leaves other writers' fields of its composite alone, and gets the fields that it does not set", async () => {
    await world.createClaim("both", { size: 3 });
    await world.reconcileClaim("both");
    const name = nameOf(await world.compositeOf("both"));
    const selected = {
      compositionRef: { name: "c" },
      compositionRevisionRef: { name: "c-1" },
      compositionUpdatePolicy: "Automatic",
    };
    await world.patchComposite(name, {
      spec: { ...selected, address: "a", resourceRefs: [{ apiVersion: "v1", kind: "Secret", name: "s" }] },
    });
    await world.reconcileClaim("both");
    expect((await world.claim("both"))?.["spec"]).toMatchObject({ ...selected, address: "a", size: 3 });
    expect(at(await world.claim("both"), "spec")["resourceRefs"]).toBeUndefined();
    // The claim follows its composite, and does not restore the old value.
    await world.patchComposite(name, { spec: { address: "b", compositionRevisionRef: { name: "c-2" } } });
    await world.reconcileClaim("both");
    expect((await world.composite(name))?.["spec"]).toMatchObject({
      address: "b",
      compositionRevisionRef: { name: "c-2" },
    });
    expect((await world.claim("both"))?.["spec"]).toMatchObject({
      address: "b",
      compositionRevisionRef: { name: "c-2" },
    });
    await world.patchComposite(name, { spec: { address: null } });
    await world.reconcileClaim("both");
    expect(at(await world.claim("both"), "spec")["address"]).toBeUndefined();
    world.writes();
    await world.reconcileClaim("both");
    expect(world.writes()).toEqual([]);
    // From now on the field belongs to the claim's author.
    await world.patchClaim("both", { spec: { address: "mine", compositionRef: { name: "d" } } });
    await world.reconcileClaim("both");
    expect((await world.composite(name))?.["spec"]).toMatchObject({ address: "mine", compositionRef: { name: "d" } });
  });

  test("yields a field that the Composition sets, reports it once, and sets it again after its release", async () => {
    await world.createClaim("yield", { address: "mine", options: { a: "1", b: "2" }, compositionRef: { name: "c" } });
    await world.reconcileClaim("yield");
    const name = nameOf(await world.compositeOf("yield"));
    // Like the composite reconciler.
    const compose = (spec: JsonObject): Promise<unknown> =>
      world.client.apply(
        { apiVersion: "example.org/v1", kind: "XThing", metadata: { name }, spec },
        { fieldManager: "xfn-controller/composite" },
      );
    await compose({ address: "composed", options: { a: "composed" }, compositionRef: { name: "c" } });
    world.writes();
    await world.reconcileClaim("yield");
    await world.patchClaim("yield", {
      spec: { address: "insisting", options: { b: "3" }, compositionRef: { name: "d" } },
    });
    await world.reconcileClaim("yield");
    expect((await world.composite(name))?.["spec"]).toMatchObject({
      address: "composed",
      options: { a: "composed", b: "3" },
      compositionRef: { name: "d" },
    });
    const reported = world.events.filter(({ reason }) => reason === "FieldOfComposition");
    expect(reported.map(({ message }) => message.split(":")[0])).toEqual(["spec.address", "spec.options.a"]);
    world.writes();
    await world.reconcileClaim("yield");
    expect(world.writes()).toEqual([]);
    await compose({ options: { a: "composed" } });
    await world.reconcileClaim("yield");
    expect((await world.composite(name))?.["spec"]).toMatchObject({ address: "insisting", options: { a: "composed" } });
  });

  test("yields labels and annotations too, except those that identify the claim", async () => {
    const author = { labels: { team: "mine", stage: "dev" }, annotations: { "example.org/x": "mine" } };
    await world.createClaim("labels", {}, author);
    await world.reconcileClaim("labels");
    const name = nameOf(await world.compositeOf("labels"));
    const composed = { team: "composed", "crossplane.io/claim-name": "another" };
    const compose = (metadata: JsonObject): Promise<unknown> =>
      world.client.apply(
        { apiVersion: "example.org/v1", kind: "XThing", metadata: { ...metadata, name } },
        { fieldManager: "xfn-controller/composite" },
      );
    await compose({ labels: composed, annotations: { "example.org/x": "composed" } });
    await world.reconcileClaim("labels");
    expect((await world.composite(name))?.metadata).toMatchObject({
      labels: { team: "composed", stage: "dev", "crossplane.io/claim-name": "labels" },
      annotations: { "example.org/x": "composed" },
    });
    const reported = world.events.filter(({ reason }) => reason === "FieldOfComposition");
    expect(reported).toHaveLength(2);
    world.writes();
    await world.reconcileClaim("labels");
    expect(world.writes()).toEqual([]);
    await compose({});
    await world.reconcileClaim("labels");
    expect((await world.composite(name))?.metadata).toMatchObject(author);
  });

  test("chooses the revision with the policy Manual, and copies it with Automatic", async () => {
    await world.createClaim("revision", { compositionUpdatePolicy: "Manual", compositionRevisionRef: { name: "r-1" } });
    await world.reconcileClaim("revision");
    const name = nameOf(await world.compositeOf("revision"));
    expect((await world.composite(name))?.["spec"]).toMatchObject({
      compositionUpdatePolicy: "Manual",
      compositionRevisionRef: { name: "r-1" },
    });
    await world.patchClaim("revision", { spec: { compositionUpdatePolicy: "Automatic" } });
    await world.reconcileClaim("revision");
    await world.patchComposite(name, { spec: { compositionRevisionRef: { name: "r-2" } } });
    await world.reconcileClaim("revision");
    expect((await world.composite(name))?.["spec"]).toMatchObject({ compositionRevisionRef: { name: "r-2" } });
    expect((await world.claim("revision"))?.["spec"]).toMatchObject({ compositionRevisionRef: { name: "r-2" } });
  });

  test("cannot set its composite's reserved fields, even if its schema allows it", async () => {
    const theirs: JsonObject = {
      resourceRefs: [{ apiVersion: "v1", kind: "Secret", name: "s" }],
      claimRef: { name: "x" },
    };
    await world.createClaim(
      "smuggle",
      { ...theirs, other: "x", writeConnectionSecretToRef: { name: "mine" } },
      {
        labels: { "crossplane.io/composite": "another", "crossplane.io/claim-name": "another" },
        annotations: {
          "crossplane.io/composition-resource-name": "a",
          "crossplane.io/paused": "false",
          "kubectl.kubernetes.io/last-applied-configuration": "{}",
        },
      },
    );
    await world.reconcileClaim("smuggle");
    const composite = await world.compositeOf("smuggle");
    expect(composite?.["spec"]).toEqual({
      size: 1,
      other: "x",
      reclaimPolicy: "Delete",
      claimRef: {
        apiVersion: "example.org/v1",
        kind: "Thing",
        namespace: "default",
        name: "smuggle",
        uid: (await world.claim("smuggle"))?.metadata.uid,
      },
    });
    expect(composite?.metadata.labels).toEqual({
      "crossplane.io/claim-name": "smuggle",
      "crossplane.io/claim-namespace": "default",
    });
    expect(composite?.metadata.annotations).toBeUndefined();
  });

  test("gives its external name to a composite that has none", async () => {
    const key = "crossplane.io/external-name";
    await world.createClaim("named", {}, { annotations: { [key]: "first" } });
    await world.reconcileClaim("named");
    const name = nameOf(await world.compositeOf("named"));
    expect((await world.composite(name))?.metadata.annotations).toEqual({ [key]: "first" });
    await world.patchClaim("named", { metadata: { annotations: { [key]: "second" } } });
    await world.reconcileClaim("named");
    expect((await world.composite(name))?.metadata.annotations).toEqual({ [key]: "first" });
    expect((await world.claim("named"))?.metadata.annotations).toEqual({ [key]: "first" });
    await world.patchComposite(name, { metadata: { annotations: { [key]: "third" } } });
    await world.reconcileClaim("named");
    expect((await world.claim("named"))?.metadata.annotations).toEqual({ [key]: "third" });
    expect((await world.composite(name))?.metadata.annotations).toEqual({ [key]: "third" });
  });

  test("is ignored while it is paused", async () => {
    const paused = { "crossplane.io/paused": "true" };
    await world.createClaim("paused", { size: 3 }, { annotations: paused });
    await world.reconcileClaim("paused");
    expect(conditionsOf(await world.claim("paused"))).toEqual({ Synced: "False ReconcilePaused" });
    expect(await world.compositesOf("paused")).toEqual([]);
    world.writes();
    await world.reconcileClaim("paused");
    expect(world.writes()).toEqual([]);
    await world.patchClaim("paused", { metadata: { annotations: { "crossplane.io/paused": null } } });
    await world.reconcileClaim("paused");
    expect(conditionsOf(await world.claim("paused"))["Synced"]).toBe("True ReconcileSuccess");
    expect(await world.compositesOf("paused")).toHaveLength(1);
  });
});
