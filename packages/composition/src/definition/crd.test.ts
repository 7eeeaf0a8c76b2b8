import type { JsonObject, JsonValue } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { claimCrd, compositeCrd, KEPT_KEYWORDS } from "./crd.ts";

const xrd = (schema: JsonValue, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositeResourceDefinition",
  metadata: { name: "xthings.example.org", uid: "u", ...metadata },
  spec: {
    group: "example.org",
    names: { kind: "XThing", plural: "xthings" },
    claimNames: { kind: "Thing", plural: "things", categories: ["mine"] },
    versions: [{ name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: schema } }],
    ...spec,
  },
});

function schemaOf(crd: JsonObject): JsonObject {
  const { versions } = crd["spec"] as { versions: { schema: { openAPIV3Schema: JsonObject } }[] };
  return versions[0]?.schema.openAPIV3Schema ?? {};
}

function partOf(crd: JsonObject, part: "spec" | "status"): JsonObject {
  return (schemaOf(crd)["properties"] as JsonObject)[part] as JsonObject;
}

test("composite resources are cluster-scoped, claims namespaced, and the definition owns both CRDs", () => {
  const composite = compositeCrd(xrd({}));
  const claim = claimCrd(xrd({}));
  expect(composite).toMatchObject({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "xthings.example.org", ownerReferences: [{ uid: "u", controller: true }] },
    spec: { scope: "Cluster", names: { kind: "XThing", categories: ["composite"] } },
  });
  expect(claim).toMatchObject({
    metadata: { name: "things.example.org", ownerReferences: [{ name: "xthings.example.org" }] },
    spec: { scope: "Namespaced", names: { kind: "Thing", categories: ["mine", "claim"] } },
  });
});

test("composite resources have a reclaim policy, unless the author has a field of that name", () => {
  const fieldsOf = (schema: JsonObject) => partOf(compositeCrd(xrd(schema)), "spec")["properties"] as JsonObject;
  expect(fieldsOf({})["reclaimPolicy"]).toMatchObject({ enum: ["Delete", "Retain"] });
  const authors = { properties: { spec: { properties: { reclaimPolicy: { type: "integer" } } } } };
  expect(fieldsOf(authors)["reclaimPolicy"]).toEqual({ type: "integer" });
  expect(partOf(claimCrd(xrd({})), "spec")["properties"]).not.toHaveProperty("reclaimPolicy");
});

test.each([
  ["v2", {}, "Namespaced"],
  ["v1", { scope: "Namespaced" }, "Namespaced"],
  ["v2", { scope: "Cluster" }, "Cluster"],
])("XRs of Crossplane 2 (%s, %j) have all bookkeeping in spec.crossplane", (version, more, scope) => {
  const schema = { properties: { spec: { properties: { claimRef: { type: "string" } } } } };
  const crd = compositeCrd({ ...xrd(schema, more), apiVersion: `apiextensions.crossplane.io/${version}` });
  expect(crd["spec"]).toMatchObject({ scope, versions: [{ additionalPrinterColumns: expect.any(Array) }] });
  const { claimRef, crossplane, ...others } = partOf(crd, "spec")["properties"] as JsonObject;
  expect([claimRef, others]).toEqual([{ type: "string" }, {}]);
  const { properties } = crossplane as { properties: JsonObject };
  expect(Object.keys(properties)).toEqual([
    "compositionRef",
    "compositionSelector",
    "compositionRevisionRef",
    "compositionRevisionSelector",
    "compositionUpdatePolicy",
    "resourceRefs",
  ]);
  const { items } = properties["resourceRefs"] as { items: { properties: JsonObject } };
  expect(Object.hasOwn(items.properties, "namespace")).toBe(scope === "Cluster");
  expect(Object.keys(partOf(crd, "status")["properties"] as JsonObject)).toEqual([
    "conditions",
    "lastHandledReconcileAt",
  ]);
});

test("the subresource scale and the conversion pass through", () => {
  const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" };
  const conversion = {
    strategy: "Webhook",
    webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: "https://x" } },
  };
  const versions = [
    { name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: {} }, subresources: { scale } },
  ];
  const spec = compositeCrd(xrd({}, { versions, conversion }))["spec"];
  expect(spec).toMatchObject({ conversion, versions: [{ subresources: { status: {}, scale } }] });
});

test("injected fields win over the author's, and differ for claims and composite resources", () => {
  const schema = {
    properties: {
      spec: {
        properties: { size: { type: "integer" }, claimRef: { type: "string" }, resourceRef: { type: "string" } },
      },
      status: { properties: { conditions: { type: "string" }, ip: { type: "string" } } },
    },
  };
  const composite = partOf(compositeCrd(xrd(schema)), "spec")["properties"] as JsonObject;
  expect(composite["size"]).toEqual({ type: "integer" });
  expect(composite["claimRef"]).toMatchObject({ type: "object" });
  expect(composite["resourceRef"]).toEqual({ type: "string" });
  const claim = partOf(claimCrd(xrd(schema)), "spec")["properties"] as JsonObject;
  expect(claim["resourceRef"]).toMatchObject({ type: "object" });
  expect(Object.hasOwn(claim, "resourceRefs")).toBe(false);
  expect(partOf(claimCrd(xrd(schema)), "status")["properties"]).toMatchObject({
    conditions: { type: "array" },
    ip: { type: "string" },
  });
});

test("keywords at the root of spec and status are retained, unlike in Crossplane", () => {
  const kept: JsonObject = {
    default: { a: "x" },
    oneOf: [{ required: ["a"] }],
    minProperties: 1,
    nullable: true,
    "x-kubernetes-preserve-unknown-fields": true,
  };
  const author = { type: "object", description: "d", ...kept, properties: { a: { type: "string" } } };
  for (const make of [compositeCrd, claimCrd]) {
    const crd = make(xrd({ properties: { spec: author, status: author } }));
    expect(partOf(crd, "spec")).toMatchObject({ type: "object", description: "d", ...kept });
    expect(partOf(crd, "status")).toMatchObject(kept);
  }
  expect(KEPT_KEYWORDS).toEqual(expect.arrayContaining(Object.keys(kept)));
});

test("keywords that a schema with properties cannot have are dropped", () => {
  const spec = {
    type: "array",
    items: { type: "string" },
    additionalProperties: true,
    "x-kubernetes-preserve-unknown-fields": false,
  };
  const part = partOf(compositeCrd(xrd({ type: "string", properties: { spec, other: {} } })), "spec");
  expect(Object.keys(part)).toEqual(["type", "properties"]);
  expect(part["type"]).toBe("object");
});

test("schemas have an API server's form: nothing unknown, nothing empty, no null", () => {
  const field = {
    type: "string",
    description: "",
    unknownKeyword: 1,
    enum: [],
    nullable: false,
    minLength: 0,
    default: null,
    maximum: null,
    "x-kubernetes-preserve-unknown-fields": false,
    "x-kubernetes-validations": [{ rule: "true", message: "", reason: "FieldValueInvalid" }],
  };
  const part = partOf(compositeCrd(xrd({ properties: { spec: { properties: { field, empty: null } } } })), "spec");
  expect((part["properties"] as JsonObject)["field"]).toEqual({
    type: "string",
    minLength: 0,
    "x-kubernetes-preserve-unknown-fields": false,
    "x-kubernetes-validations": [{ rule: "true", reason: "FieldValueInvalid" }],
  });
  expect((part["properties"] as JsonObject)["empty"]).toEqual({});
});

test("as in an API server, a bound beyond 2^53 is rounded, and a column's priority 0 omitted", () => {
  const field = { type: "integer", maximum: 2n ** 53n + 1n } as unknown as JsonObject;
  const column = { name: "A", type: "string", jsonPath: ".a" };
  const schema = { openAPIV3Schema: { properties: { spec: { properties: { field } } } } };
  const crd = compositeCrd(
    xrd({}, { versions: [{ name: "v1", schema, additionalPrinterColumns: [{ ...column, priority: 0 }] }] }),
  );
  expect(partOf(crd, "spec")["properties"]).toMatchObject({ field: { type: "integer", maximum: 2 ** 53 } });
  const { versions } = crd["spec"] as { versions: { additionalPrinterColumns: JsonObject[] }[] };
  expect(versions[0]?.additionalPrinterColumns[0]).toEqual(column);
});

test("labels come from the definition and from spec.metadata, annotations from spec.metadata only", () => {
  const { metadata } = compositeCrd(
    xrd(
      {},
      { metadata: { labels: { a: "2", b: "3" }, annotations: { c: "4" } } },
      { labels: { a: "1", d: "5" }, annotations: { e: "6" } },
    ),
  );
  expect(metadata).toMatchObject({ labels: { a: "2", b: "3", d: "5" }, annotations: { c: "4" } });
});

test("properties named like parts of objects are data", () => {
  const properties = JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"string"}}') as JsonObject;
  const crd = compositeCrd(xrd({ properties: { spec: { properties } } }));
  const result = partOf(crd, "spec")["properties"] as JsonObject;
  expect(Object.hasOwn(result, "__proto__")).toBe(true);
  expect(result["constructor"]).toEqual({ type: "string" });
  expect(Object.hasOwn(Object.prototype, "type")).toBe(false);
});

describe("invalid definitions", () => {
  test.each([
    ["no schema", undefined, "spec.versions[0].schema.openAPIV3Schema"],
    ["a schema that is a list", [], "spec.versions[0].schema.openAPIV3Schema"],
    [
      "a keyword of the wrong type",
      { properties: { spec: { required: "a" } } },
      "spec.versions[0].schema.openAPIV3Schema.properties.spec.required",
    ],
    [
      "an items that is neither",
      { properties: { spec: { properties: { a: { items: 5 } } } } },
      "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.a.items",
    ],
    [
      "a length that is not an integer",
      { properties: { a: { maxLength: 1.5 } } },
      "spec.versions[0].schema.openAPIV3Schema.properties.a.maxLength",
    ],
  ])("%s is reported with its field", (_, schema, path) => {
    expect(() => compositeCrd(xrd(schema as JsonValue))).toThrow(
      expect.objectContaining({
        name: "DefinitionError",
        code: "Invalid",
        issues: [expect.objectContaining({ path })],
      }),
    );
  });

  test("all errors at once", () => {
    const definition = xrd({ type: 5 }, { group: 7, names: { kind: [], plural: "x" } });
    expect(() => compositeCrd(definition)).toThrow(
      expect.objectContaining({ issues: [expect.anything(), expect.anything(), expect.anything()] }),
    );
  });

  test("rejects a missing claim, and a claim with the names of the composite resource", () => {
    expect(() => claimCrd(xrd({}, { claimNames: null }))).toThrow(expect.objectContaining({ code: "NotOffered" }));
    expect(() => claimCrd(xrd({}, { claimNames: { kind: "XThing", plural: "xthings" } }))).toThrow(
      expect.objectContaining({ code: "Invalid", issues: [expect.anything(), expect.anything()] }),
    );
    expect(() => compositeCrd(xrd({}, { claimNames: { kind: "XThing", plural: "xthings" } }))).not.toThrow();
  });

  test("an endless schema is rejected", () => {
    let schema: JsonObject = {};
    for (let depth = 0; depth < 100_000; depth++) schema = { properties: { a: schema } };
    expect(() => compositeCrd(xrd(schema))).toThrow(expect.objectContaining({ code: "Invalid" }));
  });
});

test("a default of spec that its schema does not allow is left out, a valid one is kept", () => {
  const spec = (value: JsonValue): JsonObject =>
    partOf(
      compositeCrd(
        xrd({
          type: "object",
          properties: { spec: { type: "object", default: value, properties: { size: { type: "integer" } } } },
        }),
      ),
      "spec",
    );
  expect(spec({ size: 1, compositionRef: { name: "a" } })["default"]).toEqual({
    size: 1,
    compositionRef: { name: "a" },
  });
  for (const invalid of ["text", { size: "large" }, { sise: 1 }]) expect(spec(invalid)).not.toHaveProperty("default");
});
