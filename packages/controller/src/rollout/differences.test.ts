import type { JsonObject, KubernetesObject } from "@xfn/json";
import { SecretValues } from "@xfn/pipeline/trace";
import { expect, test } from "vitest";
import { differencesOf } from "./differences.ts";

const object = (spec: JsonObject, kind = "Bucket"): KubernetesObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name: "a", resourceVersion: JSON.stringify(spec), managedFields: [{ manager: JSON.stringify(spec) }] },
  ...spec,
});

const known = (...values: readonly string[]): SecretValues => {
  const secrets = new SecretValues(new Set());
  for (const value of values) secrets.addKnown(Buffer.from(value));
  return secrets;
};

const difference = (before: JsonObject, after: JsonObject, secrets: readonly string[] = [], kind = "Bucket") =>
  differencesOf("b", object(before, kind), object(after, kind), known(...secrets));

test("fields that change, come and go", () => {
  expect(
    difference(
      { spec: { size: 1, gone: true, same: { a: 1 }, list: [{ a: 1 }, 2], other: [1] }, status: { phase: "a" } },
      { spec: { size: 2, new: "x", same: { a: 1 }, list: [{ a: 3 }, 2], other: [1, 2] }, status: { phase: "b" } },
    ),
  ).toEqual([
    { resource: "b", path: "spec.size", applied: "1", desired: "2" },
    { resource: "b", path: "spec.gone", applied: "true" },
    { resource: "b", path: "spec.list[0].a", applied: "1", desired: "3" },
    { resource: "b", path: "spec.other", applied: "[1]", desired: "[1,2]" },
    { resource: "b", path: "spec.new", desired: '"x"' },
  ]);
});

test("null and absent are not a difference", () => {
  expect(difference({ spec: { a: null, b: { c: null } } }, { spec: { b: {} } })).toEqual([]);
  expect(difference({ spec: {} }, { spec: { a: null } })).toEqual([]);
  expect(difference({ spec: { a: null } }, { spec: { a: false } })).toEqual([
    { resource: "b", path: "spec.a", applied: "null", desired: "false" },
  ]);
});

test("whole objects", () => {
  expect(differencesOf("b", undefined, object({}), known())).toEqual([
    { resource: "b", path: "", desired: '"Bucket a"' },
  ]);
  expect(differencesOf("b", object({}), undefined, known())).toEqual([
    { resource: "b", path: "", applied: '"Bucket a"' },
  ]);
});

test.each([
  ["the data of a Secret", { data: { user: "cGFzcw==" } }, { data: { user: "d29yZA==" } }, "Secret"],
  ["all of a new map of a Secret", {}, { stringData: { user: "pass-word" } }, "Secret"],
  ["a connection detail anywhere", { spec: { url: "x" } }, { spec: { url: "db://u:pass-word@host" } }, "Bucket"],
  ["its encoding", { spec: { url: "x" } }, { spec: { url: "cGFzcy13b3Jk" } }, "Bucket"],
  ["a field that is named so", { spec: { dbPassword: "a" } }, { spec: { dbPassword: "pass-word" } }, "Bucket"],
  ["a value below it", { spec: { token: { value: "a" } } }, { spec: { token: { value: "hidden" } } }, "Bucket"],
  [
    "such a variable",
    { env: [{ name: "TOKEN", value: "a" }] },
    { env: [{ name: "TOKEN", value: "hidden" }] },
    "Bucket",
  ],
  [
    "a Secret in another object",
    { spec: { manifest: { kind: "Secret", data: { user: "cGFzcw==" } } } },
    { spec: { manifest: { kind: "Secret", data: { user: "d29yZA==" } } } },
    "Object",
  ],
  [
    "a Secret in a list",
    { spec: { all: [{ kind: "Secret", stringData: { a: "x" } }] } },
    { spec: { all: [{ kind: "Secret", stringData: { a: "hidden" } }] } },
    "Object",
  ],
  [
    "a new object with a Secret",
    { spec: {} },
    { spec: { manifest: { kind: "Secret", stringData: { a: "hidden" } } } },
    "Object",
  ],
  ["a field that a trace hides", { spec: { apiKey: "a" } }, { spec: { apiKey: "hidden" } }, "Bucket"],
  ["such a variable in a new list", { env: [] }, { env: [{ name: "DB_PASSWORD", value: "hidden" }] }, "Bucket"],
])("%s is masked", (_, before, after, kind) => {
  const text = JSON.stringify(difference(before, after, ["pass-word"], kind));
  expect(text).toContain("(masked)");
  expect(text).not.toMatch(/pass-word|cGFzcy13b3Jk|hidden|d29yZA|cGFzcw/);
});

test("a short secret hides only its own value", () => {
  const found = difference({ spec: { a: "x", b: "x" } }, { spec: { a: "1", b: "21" } }, ["1"]);
  expect(found.map(({ desired }) => desired)).toEqual(['"(masked)"', '"21"']);
});

test("values are short", () => {
  const [found] = difference({ spec: { a: 1 } }, { spec: { a: "long ".repeat(1_000) } });
  expect(found?.desired?.length).toBe(120);
});
