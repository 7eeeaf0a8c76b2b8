import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { requiredObjects } from "./required-objects.ts";
import { readSchemas } from "./required-schemas.ts";

const zone = (name: string, namespace?: string, labels = {}) => ({
  apiVersion: "example.org/v1",
  kind: "Zone",
  metadata: { name, labels, ...(namespace && { namespace }) },
});
const OF_ZONES = { apiVersion: "example.org/v1", kind: "Zone" };

test("selects by name within a namespace, and by labels in all, sorted", () => {
  const live = { live: "yes" };
  const objects = requiredObjects([
    zone("z1", "b", live),
    zone("z2", undefined, live),
    zone("z1"),
    zone("z3", "a", live),
  ]);
  const select = (selector: object): string[] =>
    objects
      .select({ ...OF_ZONES, match: { labels: new Map() }, ...selector })
      .map(
        ({ resource }) =>
          `${String((resource["metadata"] as { namespace?: string }).namespace ?? "")}/${String((resource["metadata"] as { name: string }).name)}`,
      );
  expect(select({ match: { name: "z1" } })).toEqual(["/z1"]);
  expect(select({ match: { name: "z1" }, namespace: "b" })).toEqual(["b/z1"]);
  expect(select({ match: { name: "z1" }, namespace: "a" })).toEqual([]);
  expect(select({ match: { labels: new Map([["live", "yes"]]) } })).toEqual(["/z2", "a/z3", "b/z1"]);
  expect(select({ namespace: "a" })).toEqual(["a/z3"]);
  expect(select({ apiVersion: "example.org/v2" })).toEqual([]);
});

test("reads the data of Secrets", () => {
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "keys", namespace: "ns" },
    data: { a: Buffer.from("one").toString("base64") },
    stringData: { b: "two" },
  };
  const objects = requiredObjects([secret]);
  expect(objects.secret({ namespace: "ns", name: "keys" })).toEqual(
    new Map([
      ["a", Buffer.from("one")],
      ["b", Buffer.from("two")],
    ]),
  );
  expect(objects.secret({ namespace: "other", name: "keys" })).toBe(undefined);
});

const dir = temporaryFolder();

test("finds the schema of a kind, with its references replaced", () => {
  const ref = (name: string): object => ({ $ref: `#/components/schemas/${name}` });
  const kind = { group: "example.org", version: "v1", kind: "Zone" };
  const schemas = {
    Zone: {
      type: "object",
      properties: { spec: { allOf: [ref("Spec")], description: "d" } },
      "x-kubernetes-group-version-kind": [kind],
    },
    Spec: { type: "object", properties: { children: { type: "array", items: ref("Spec") } } },
    Options: { "x-kubernetes-group-version-kind": [kind, { ...kind, kind: "Other" }] },
  };
  mkdirSync(join(dir, "deep"));
  writeFileSync(join(dir, "deep", "one.json"), JSON.stringify({ components: { schemas } }));
  const find = readSchemas(dir);
  expect(find(OF_ZONES)).toMatchObject({
    properties: { spec: { type: "object", properties: { children: { type: "array", items: { type: "object" } } } } },
  });
  expect(find({ ...OF_ZONES, kind: "Other" })).toBe(undefined);
});

test("a folder without schemas, and a broken file, are errors", () => {
  const empty = mkdtempSync(join(dir, "empty-"));
  expect(() => readSchemas(empty)).toThrow(/no \.json files/);
  writeFileSync(join(empty, "broken.json"), "{");
  expect(() => readSchemas(empty)).toThrow(expect.objectContaining({ code: "Input" }));
  expect(() => readSchemas(join(empty, "missing"))).toThrow(expect.objectContaining({ code: "Input" }));
});
