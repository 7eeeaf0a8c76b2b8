import type { JsonObject } from "@xfn/json";
import { ApiError, type Client, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { adoptionProblem } from "./adopt-object.ts";

const REVISION: LiveObject = {
  apiVersion: "pkg.crossplane.io/v1",
  kind: "FunctionRevision",
  metadata: {
    name: "fn-0123456789ab",
    uid: "revision",
    resourceVersion: "1",
    ownerReferences: [
      { apiVersion: "pkg.crossplane.io/v1", kind: "Function", name: "fn", uid: "function", controller: true },
    ],
  },
};
const crd = (
  metadata: JsonObject = {},
  versions: readonly JsonObject[] = [{ name: "v1", served: true }],
): LiveObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.example.org", uid: "crd", resourceVersion: "1", ...metadata },
  spec: {
    group: "example.org",
    names: { kind: "Thing", plural: "things" },
    scope: "Namespaced",
    versions: [...versions],
  },
});
const definition = (claimNames?: JsonObject): LiveObject => ({
  ...crd(),
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositeResourceDefinition",
  spec: { ...(crd()["spec"] as JsonObject), ...(claimNames && { claimNames }) },
});
const COMPOSITION: LiveObject = {
  ...crd(),
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  spec: { compositeTypeRef: { apiVersion: "example.org/v1", kind: "Thing" } },
};

/** @param instances the number of instances by plural, or why they cannot be listed */
const problemOf = (
  object: LiveObject,
  instances: Readonly<Record<string, number | "Forbidden">>,
): Promise<string | undefined> => {
  const client = {
    list: async ({ group, version, plural }: ResourceKind) => {
      expect([group, version]).toEqual(["example.org", "v1"]);
      const found = instances[plural];
      if (found === undefined) throw new ApiError("KindNotServed", `nothing serves ${plural}`);
      if (found === "Forbidden") throw new ApiError("Forbidden", "may not list");
      return { items: Array.from({ length: found }, () => crd()), resourceVersion: "1" };
    },
    kind: async (apiVersion: string, kind: string) => {
      if (instances["things"] === undefined) throw new ApiError("KindNotServed", `nothing serves ${kind}`);
      const [group = "", version = ""] = apiVersion.split("/");
      return { group, version, kind, plural: "things", namespaced: true };
    },
  } satisfies Partial<Client>;
  return adoptionProblem({ client: client as unknown as Client }, REVISION, object, new AbortController().signal);
};

test.each<[what: string, object: LiveObject]>([
  ["CRD", crd()],
  ["definition", definition()],
  ["Composition", COMPOSITION],
])("a %s of nothing is adopted if there are no objects of its kind", async (_, object) => {
  expect(await problemOf(object, { things: 0 })).toBeUndefined();
  expect(await problemOf(object, {})).toBeUndefined();
  expect(await problemOf(object, { things: 1 })).toBe("there are objects of the kind Thing of example.org");
  expect(await problemOf(object, { things: "Forbidden" })).toContain("may not list the kind Thing of example.org");
});

test("claims keep a definition from being adopted", async () => {
  const claimed = definition({ kind: "Claim", plural: "claims" });
  expect(await problemOf(claimed, { things: 0, claims: 1 })).toContain("objects of the kind Claim");
  expect(await problemOf(claimed, { things: 0, claims: 0 })).toBeUndefined();
});

test.each<[what: string, object: LiveObject]>([
  ["without a served version", crd({}, [{ name: "v1", served: false }])],
  ["of another kind", { ...crd(), apiVersion: "ops.crossplane.io/v1alpha1", kind: "Operation" }],
])("an object %s, whose use cannot be seen, is not adopted", async (_, object) => {
  expect(await problemOf(object, { things: 0 })).toBe("no package installed it");
});

const owner = (apiVersion: string, kind: string): JsonObject => ({
  ownerReferences: [{ apiVersion, kind, name: "other", uid: "other", controller: false }],
});
const managed = (manager: string, operation = "Apply"): JsonObject => ({
  managedFields: [{ manager, operation, fieldsV1: { "f:spec": {} } }],
});

test.each<[what: string, metadata: JsonObject]>([
  ["that a package still owns", owner("pkg.crossplane.io/v1", "Function")],
  ["that a deleted package left", managed("pkg.crossplane.io/revision")],
  ["that its owner hands over", { labels: { "pkg.crossplane.io/package": "fn" } }],
])("a CRD %s is adopted with its objects", async (_, metadata) => {
  expect(await problemOf(crd(metadata), { things: 1 })).toBeUndefined();
});

test.each<[what: string, metadata: JsonObject]>([
  ["of another owner", owner("apps/v1", "Deployment")],
  ["of a group that begins like that of packages", owner("pkg.crossplane.io.evil.org/v1", "Function")],
  ["that Helm installed", managed("helm", "Update")],
  ["that a definition left", managed("apiextensions.crossplane.io/definition")],
  ["that is handed over to another package", { labels: { "pkg.crossplane.io/package": "other" } }],
])("a CRD %s is not adopted with its objects", async (_, metadata) => {
  expect(await problemOf(crd(metadata), { things: 1 })).toContain("there are objects");
});

test("a CRD of the controller is never adopted", async () => {
  const labels = { "app.kubernetes.io/part-of": "xfn", "pkg.crossplane.io/package": "fn" };
  expect(await problemOf(crd({ labels }), { things: 0 })).toBe("the controller installed it");
});
