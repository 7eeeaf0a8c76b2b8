import type { JsonObject } from "@xfn/json";
import { expect, test } from "vitest";
import { labelValue } from "../objects/labels.ts";
import { contentHash, hashLabel, revisionName } from "./revision-name.ts";

const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const composition = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({ metadata, spec });

test("the content of a revision is spec and labels, in any order of keys", () => {
  const hash = contentHash(composition({ a: 1, b: { c: [1, 2], d: null } }, { labels: { x: "1", y: "2" } }));
  expect(contentHash(composition({ b: { d: null, c: [1, 2] }, a: 1 }, { labels: { y: "2", x: "1" } }))).toBe(hash);
  expect(
    contentHash(
      composition({ a: 1, b: { c: [1, 2], d: null } }, { labels: { x: "1", y: "2" }, annotations: { z: "3" } }),
    ),
  ).toBe(hash);
  expect(contentHash(composition({ a: 1, b: { c: [2, 1], d: null } }, { labels: { x: "1", y: "2" } }))).not.toBe(hash);
  expect(contentHash(composition({ a: 1, b: { c: [1, 2], d: null } }, { labels: { x: "1", y: "3" } }))).not.toBe(hash);
});

test("integers beyond 2^53 that differ by one have different hashes", () => {
  const [a, b] = [9007199254740993n, 9007199254740992n].map((size) =>
    contentHash(composition({ size } as unknown as JsonObject)),
  );
  expect(a).not.toBe(b);
});

test.each([
  "a",
  "my.composition.example.org",
  `a${".b".repeat(60)}`,
  "x".repeat(253),
  `${"x".repeat(49)}-.-${"y".repeat(60)}`,
])("the names and labels of the revisions of %s are valid", (name) => {
  const hash = contentHash(composition({ name }));
  expect(labelValue(name)).toMatch(LABEL_VALUE);
  expect(hashLabel(hash)).toMatch(LABEL_VALUE);
  for (const digits of [7, 16, 40]) {
    expect(revisionName(name, hash, digits).length).toBeLessThanOrEqual(253);
    if (!/[.-]{2}/.test(name)) expect(revisionName(name, hash, digits)).toMatch(OBJECT_NAME);
  }
});

test("two long names have different labels", () => {
  expect(labelValue(`${"x".repeat(100)}a`)).not.toBe(labelValue(`${"x".repeat(100)}b`));
});
