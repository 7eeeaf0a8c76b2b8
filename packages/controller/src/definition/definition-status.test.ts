import { documentOf } from "@xfn/composition";
import { type Definition, parseDefinition } from "@xfn/composition/definition";
import type { JsonObject } from "@xfn/json";
import { expect, test } from "vitest";
import { ApplyCache } from "../objects/apply-cache.ts";
import type { CrdState } from "./definition-crd.ts";
import { definitionStatus, planFinalizers } from "./definition-status.ts";
import { planDefinition, requeueFor } from "./plan-definition.ts";

const OBJECT = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositeResourceDefinition",
  metadata: { name: "xapps.example.org", uid: "1", resourceVersion: "1" },
};
const PENDING: CrdState = { is: "pending" };
const DELETING: CrdState = { is: "deleting" };
const ESTABLISHED: CrdState = { is: "established" };
const REFUSED: CrdState = { is: "refused", reason: "CRDOfAnother", message: "it belongs to another" };
const COMPOSITE_KIND = { apiVersion: "example.org/v1", kind: "XApp" };
const CLAIM_KIND = { apiVersion: "example.org/v1", kind: "App" };

function definition(spec: JsonObject = { claimNames: { kind: "App", plural: "apps" } }): Definition {
  return parseDefinition(
    documentOf({
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "CompositeResourceDefinition",
      metadata: { name: "xapps.example.org" },
      spec: {
        group: "example.org",
        names: { kind: "XApp", plural: "xapps" },
        versions: [{ name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: { type: "object" } } }],
        ...spec,
      },
    }),
  );
}

function statusOf(composites: CrdState, claims: CrdState | undefined, problems = {}): unknown {
  const { conditions, controllers } = definitionStatus(definition(), { composites, claims }, problems);
  return [conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`), controllers];
}

const WATCHING = "Established True WatchingCompositeResource";
const OFFERED = "Offered True WatchingCompositeResourceClaim";

test.each([
  [
    ESTABLISHED,
    ESTABLISHED,
    [WATCHING, OFFERED],
    { compositeResourceType: COMPOSITE_KIND, compositeResourceClaimType: CLAIM_KIND },
  ],
  [ESTABLISHED, undefined, [WATCHING], { compositeResourceType: COMPOSITE_KIND }],
  [ESTABLISHED, PENDING, [WATCHING], { compositeResourceType: COMPOSITE_KIND }],
  [ESTABLISHED, REFUSED, [WATCHING, "Offered False CRDOfAnother"], { compositeResourceType: COMPOSITE_KIND }],
  [PENDING, ESTABLISHED, [], { compositeResourceClaimType: CLAIM_KIND }],
  [DELETING, REFUSED, [], {}],
  [REFUSED, ESTABLISHED, ["Established False CRDOfAnother", OFFERED], { compositeResourceClaimType: CLAIM_KIND }],
  [REFUSED, REFUSED, ["Established False CRDOfAnother", "Offered False CRDOfAnother"], {}],
])("composites %j and claims %j: %j", (composites, claims, conditions, controllers) => {
  expect(statusOf(composites, claims)).toEqual([conditions, controllers]);
});

test("instances that cannot be listed are reported for the kind that has the problem", () => {
  const both = { compositeResourceType: COMPOSITE_KIND, compositeResourceClaimType: CLAIM_KIND };
  expect(statusOf(ESTABLISHED, ESTABLISHED, { composites: "forbidden" })).toEqual([
    ["Established False CannotWatch", OFFERED],
    both,
  ]);
  expect(statusOf(ESTABLISHED, ESTABLISHED, { claims: "forbidden" })).toEqual([
    [WATCHING, "Offered False CannotWatch"],
    both,
  ]);
  // The instances of a refused CRD are not listed.
  expect(statusOf(REFUSED, undefined, { composites: "forbidden" })).toEqual([["Established False CRDOfAnother"], {}]);
});

test("a definition needs a finalizer for its composites, and another one if it offers claims", () => {
  const defined = "defined.apiextensions.crossplane.io";
  const offered = "offered.apiextensions.crossplane.io";
  const object = (finalizers?: string[]) => ({
    ...OBJECT,
    metadata: { ...OBJECT.metadata, ...(finalizers && { finalizers }) },
  });
  const both = { composites: {}, claims: {} };
  const planned = (finalizers: string[] | undefined, crds: object = both): unknown =>
    planFinalizers({ object: object(finalizers), crds });
  const patch = (...finalizers: string[]): object => ({ do: "patch", body: { metadata: { finalizers } } });
  expect(planned(undefined)).toMatchObject(patch(defined, offered));
  expect(planned(["other", defined])).toMatchObject(patch("other", defined, offered));
  expect(planned(undefined, { composites: {} })).toMatchObject(patch(defined));
  expect(planned(undefined, { claims: {} })).toMatchObject(patch(offered));
  expect(planned([offered, defined])).toBeUndefined();
});

test("a definition that no longer names a service account reports that", () => {
  const earlier = { type: "ServiceAccountFound", status: "False", reason: "ServiceAccountNotFound" };
  const object = { ...OBJECT, status: { conditions: [earlier] } };
  const memory = { applies: new ApplyCache(), emitted: new Set<string>() };
  const subject = { object, definition: definition({}), key: "xapps.example.org", crds: { composites: {} }, memory };
  const seen = { subject, crds: {}, account: undefined, problems: {}, isWatched: true, now: 0 };
  const { action } = planDefinition(seen).status;
  const conditions = [{ type: "ServiceAccountFound", status: "True", reason: "NoServiceAccount" }];
  expect(action).toMatchObject({ body: { status: { conditions } } });
});

test("a CRD that changes its state soon is looked at first, and a watched one later", () => {
  const after = (...states: Parameters<typeof requeueFor>[0]): number | undefined =>
    requeueFor(states, false)?.requeueAfterMs;
  expect(after("established")).toBeUndefined();
  expect(after("refused", "pending")).toBe(50);
  expect(after("deleting", "pending")).toBe(50);
  expect(after("refused", "deleting")).toBe(1_000);
  expect(after("established", "refused")).toBe(10_000);
  expect(requeueFor(["deleting", "pending"], true)).toEqual({ requeueAfterMs: 5_000 });
});
