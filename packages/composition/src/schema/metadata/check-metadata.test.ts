import type { JsonObject, JsonValue } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { checkMetadata } from "./check-metadata.ts";
import type { NameRule } from "./object-names.ts";

const found = (metadata: JsonObject, name: NameRule = "subdomain"): string[] =>
  checkMetadata({ metadata: { name: "a", ...metadata } }, { name }).map(({ path, reason }) => `${path} ${reason}`);

// The expected values of the tables are those of apimachinery 0.34: ValidateObjectMeta.
describe("a name", () => {
  test.each<[name: string, ...accepted: NameRule[]]>([
    ["a", "subdomain", "label", "label1035", "segment"],
    ["1a", "subdomain", "label", "segment"],
    ["a.b", "subdomain", "segment"],
    ["a".repeat(63), "subdomain", "label", "label1035", "segment"],
    ["a".repeat(64), "subdomain", "segment"],
    ["a".repeat(253), "subdomain", "segment"],
    ["a".repeat(254), "segment"],
    ["My_DB", "segment"],
    ["a..b", "segment"],
    ["a.-b", "segment"],
    ["-a", "segment"],
    ["a-", "segment"],
    ["ü", "segment"],
    ["a/b"],
    ["a%b"],
    [".."],
  ])("%j", (name, ...accepted) => {
    const rules: readonly NameRule[] = ["subdomain", "label", "label1035", "segment"];
    expect(rules.filter((rule) => found({ name }, rule).length === 0)).toEqual(accepted);
  });

  test.each<[prefix: string, accepted: boolean]>([
    ["a-", true],
    ["a.-", true],
    ["-", false],
    ["AB-", false],
  ])("the prefix %j: %s", (generateName, accepted) => {
    expect(found({ generateName })).toEqual(accepted ? [] : ["metadata.generateName Invalid"]);
  });

  test("is required, unless a prefix is given", () => {
    const issues = (object: JsonObject): unknown[] => checkMetadata(object).map(({ path, reason }) => [path, reason]);
    expect(issues({})).toEqual([["metadata.name", "Required"]]);
    expect(issues({ metadata: { name: "", labels: { a: "b" } } })).toEqual([["metadata.name", "Required"]]);
    expect(issues({ metadata: { generateName: "a-" } })).toEqual([]);
    expect(checkMetadata({}, { isComplete: false })).toEqual([]);
  });

  test("and so is the uid of an owner, but not of a resource that is only rendered", () => {
    const owner = { apiVersion: "example.org/v1", kind: "XThing", name: "thing", uid: "" };
    const object = { metadata: { name: "a", ownerReferences: [owner] } };
    expect(checkMetadata(object).map(({ path }) => path)).toEqual(["metadata.ownerReferences[0].uid"]);
    expect(checkMetadata(object, { isComplete: false })).toEqual([]);
  });
});

test.each<[key: string, accepted: boolean]>([
  ["a", true],
  ["kubernetes.io/a.b-c_d", true],
  ["a".repeat(63), true],
  ["example.org/Team", true],
  ["a/b/c", false],
  ["/b", false],
  ["a/", false],
  ["has space", false],
  ["_a", false],
  ["a_", false],
  ["é", false],
  ["", false],
  ["a".repeat(64), false],
  [`x/${"a".repeat(64)}`, false],
  [`${"a".repeat(254)}/b`, false],
])("the key %j of a label, an annotation or a finalizer: %s", (key, accepted) => {
  expect(found({ labels: { [key]: "x" } }).length === 0).toBe(accepted);
  expect(found({ annotations: { [key]: "any thing ü" } }).length === 0).toBe(accepted);
  expect(found({ finalizers: [key] }).length === 0).toBe(accepted);
});

test("the prefix of an annotation may have capitals, that of a label may not", () => {
  expect(found({ annotations: { "Example.org/a": "b" } })).toEqual([]);
  expect(found({ labels: { "Example.org/a": "b" } })).toEqual(["metadata.labels.Example.org/a Invalid"]);
});

test.each<[value: string, accepted: boolean]>([
  ["", true],
  ["a_b.c", true],
  ["a".repeat(63), true],
  ["a".repeat(64), false],
  ["has space", false],
  ["-a", false],
  ["a-", false],
  ["ü", false],
])("the label %j: %s", (value, accepted) => {
  expect(found({ labels: { key: value } }).length === 0).toBe(accepted);
});

test.each<[text: string, issues: string[]]>([
  ["a".repeat(262_143), []],
  ["a".repeat(262_144), ["metadata.annotations TooLong"]],
  ["ü".repeat(131_072), ["metadata.annotations TooLong"]],
])("all annotations together have at most 256 KiB (%#)", (k, issues) => {
  expect(found({ annotations: { k } })).toEqual(issues);
});

test.each<[owners: JsonValue[], issues: string[]]>([
  [[{}], []],
  [[{ apiVersion: "g/v1", controller: false }, { controller: true }], []],
  [[{ apiVersion: null }], ["[0].apiVersion Required"]],
  [[{ apiVersion: "g/" }], ["[0].apiVersion Invalid"]],
  [[{ apiVersion: "a/b/c" }], ["[0].apiVersion Invalid"]],
  [[{ name: "", uid: null, kind: "" }], ["[0].kind Required", "[0].name Required", "[0].uid Required"]],
  [[{ controller: true }, { controller: true }], ["[1].controller Invalid"]],
  [[{ kind: "Event" }], ["[0] Invalid"]],
  [[{ controller: "yes", uuid: "x" }], ["[0].controller Type", "[0].uuid Invalid"]],
  [["a"], ["[0] Type"]],
])("owners %j", (owners, issues) => {
  const ownerReferences = owners.map((owner) =>
    typeof owner === "object" ? { apiVersion: "v1", kind: "A", name: "a", uid: "u", ...(owner as JsonObject) } : owner,
  );
  expect(found({ ownerReferences })).toEqual(issues.map((issue) => `metadata.ownerReferences${issue}`));
});

test("finalizers that exclude each other", () => {
  expect(found({ finalizers: ["orphan", "foregroundDeletion"] })).toEqual(["metadata.finalizers Invalid"]);
});

test("fields of another type, and misspelt ones, with what was meant", () => {
  const metadata = {
    name: 5,
    labels: { a: true, b: null },
    annotations: [],
    generation: "1",
    finalizers: {},
    lables: {},
  };
  expect(checkMetadata({ metadata }).map(({ path, message }) => `${path}: ${message}`)).toEqual([
    "metadata.name: metadata.name in body must be of type string",
    "metadata.labels.a: metadata.labels.a in body must be of type string",
    "metadata.annotations: metadata.annotations in body must be of type object",
    "metadata.generation: metadata.generation in body must be of type integer",
    "metadata.finalizers: metadata.finalizers in body must be of type array",
    'metadata.lables: unknown field: "lables"; did you mean labels?',
  ]);
  expect(checkMetadata({ metadata: [] })).toMatchObject([{ path: "metadata", reason: "Type" }]);
});

test("the report of a hostile object is bounded", () => {
  const labels = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`${index} `, "x"]));
  expect(found({ labels })).toHaveLength(100);
});
