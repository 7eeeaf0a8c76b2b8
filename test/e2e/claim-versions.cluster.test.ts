import { documentOf } from "@xfn/composition";
import { parseDefinition } from "@xfn/composition/definition";
import { claimReconciler, definitionReconciler } from "@xfn/controller";
import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { at, type ClaimWorld, provideClaimWorld } from "../harness/claims.ts";
import { conditionsOf } from "../harness/conditions.ts";
import { thingDefinition } from "../harness/definitions.ts";
import { needs } from "../harness/needs.ts";

const DEFINITION = "xthings.example.org";

describe("a definition with another referenceable version", needs("api-server"), () => {
  let world: ClaimWorld;
  provideClaimWorld((made) => (world = made));

  const changeDefinition = async (versions: JsonObject[]): Promise<LiveObject> => {
    const reference = {
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "CompositeResourceDefinition",
      name: DEFINITION,
    };
    await world.client.patch(reference, "merge", { spec: { versions } });
    await world.settle(definitionReconciler(world.context), DEFINITION);
    world.client.forgetKinds();
    world.context.client.forgetKinds();
    return world.client.get(reference);
  };

  test("lets its claims retain their composites, and name them in the new version", async () => {
    const { versions } = thingDefinition().spec as { versions: JsonObject[] };
    const [v1 = {}] = versions;
    await world.createClaim("old", { size: 3, region: "eu" });
    await world.reconcileClaim("old");
    const before = await world.compositeOf("old");

    const v2 = { ...v1, name: "v2", referenceable: true };
    const definition = await changeDefinition([{ ...v1, referenceable: false }, v2]);
    expect(conditionsOf(definition)["Established"]).toBe("True WatchingCompositeResource");
    expect(at(definition, "status", "controllers")).toEqual({
      compositeResourceType: { apiVersion: "example.org/v2", kind: "XThing" },
      compositeResourceClaimType: { apiVersion: "example.org/v2", kind: "Thing" },
    });
    const reconcile = claimReconciler(world.context, parseDefinition(documentOf(definition)));
    await world.settle(reconcile, "default/old");
    const after = await world.compositeOf("old");
    expect(after?.metadata.uid).toBe(before?.metadata.uid);
    expect(at(after, "spec", "claimRef")["apiVersion"]).toBe("example.org/v2");
    expect(at(await world.claim("old"), "spec", "resourceRef")["apiVersion"]).toBe("example.org/v2");
    world.writes();
    await world.settle(reconcile, "default/old");
    expect(world.writes()).toEqual([]);
    // A field that the claim no longer has is removed, although it was applied in the previous version.
    await world.patchClaim("old", { spec: { region: null } });
    await world.settle(reconcile, "default/old");
    expect(at(await world.composite(before?.metadata.name ?? ""), "spec")["region"]).toBeUndefined();
    expect(await world.compositesOf("old")).toHaveLength(1);
  });

  test("cannot drop a version in which objects are stored, and reports the server's message", async () => {
    const { versions } = thingDefinition().spec as { versions: JsonObject[] };
    const definition = await changeDefinition([{ ...versions[0], name: "v3" }]);
    expect(conditionsOf(definition)["Established"]).toBe("False CannotApplyCRD");
    expect(JSON.stringify(definition["status"])).toContain("storedVersions");
    const name = (await world.compositeOf("old"))?.metadata.name;
    expect(name).toMatch(/^old-/);
  });
});
