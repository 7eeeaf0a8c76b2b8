import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { BUCKETS, bucketOf, rolledOutOf } from "./rollout-state.ts";

const API_VERSION = "apiextensions.crossplane.io/v1";
const COMPOSITION: LiveObject = {
  apiVersion: API_VERSION,
  kind: "Composition",
  metadata: { name: "c", uid: "c", resourceVersion: "1" },
};
const OWNER = { apiVersion: API_VERSION, kind: "Composition", name: "c", uid: "c", controller: true };

/** @param rollout the status; undefined for a revision without a rollout */
function revision(
  number: number,
  rollout?: JsonObject,
  canary: JsonObject = { matchLabels: { tier: "a" } },
): LiveObject {
  return {
    apiVersion: API_VERSION,
    kind: "CompositionRevision",
    metadata: {
      name: `c-${number}`,
      uid: `c-${number}`,
      resourceVersion: "1",
      ownerReferences: [OWNER],
      ...(rollout !== undefined && { annotations: { "apiextensions.crossplane.io/rollout": "true" } }),
    },
    spec: {
      revision: number,
      compositeTypeRef: { apiVersion: "example.org/v1", kind: "XThing" },
      resources: [],
      rollout: { canary },
    },
    ...(rollout !== undefined && { status: { rollout: { revision: number, ...rollout } } }),
  };
}

const xr = (uid: string, labels: Record<string, string> = {}): LiveObject => ({
  apiVersion: "example.org/v1",
  kind: "XThing",
  metadata: { name: uid, uid, resourceVersion: "1", labels },
});

const chosen = (revisions: readonly LiveObject[], labels: Record<string, string>, follows = true): string | undefined =>
  rolledOutOf(COMPOSITION, revisions, xr("x", labels), follows)?.metadata.name;

test.each<[string, JsonObject | undefined, string, string]>([
  ["without a rollout", undefined, "c-3", "c-3"],
  ["before its start", {}, "c-1", "c-1"],
  ["in shadow", { phase: "Shadow" }, "c-1", "c-1"],
  ["in the canary", { phase: "Canary" }, "c-3", "c-1"],
  ["in a canary of its earlier number", { phase: "Canary", revision: 2 }, "c-1", "c-1"],
  ["that is complete", { phase: "Complete" }, "c-3", "c-3"],
  ["that was complete under an earlier number", { phase: "Complete", revision: 2 }, "c-3", "c-3"],
  ["that was rolled back", { phase: "RolledBack" }, "c-1", "c-1"],
])("the newest revision %s", (_, rollout, canary, other) => {
  // A canary that was superseded keeps no XR.
  const revisions = [revision(1), revision(2, { phase: "Canary" }), revision(3, rollout)];
  for (const all of [revisions, revisions.toReversed()]) {
    expect(chosen(all, { tier: "a" })).toBe(canary);
    expect(chosen(all, { tier: "b" })).toBe(other);
    expect(chosen(all, { tier: "a" }, false)).toBe(other);
  }
});

test("without an earlier revision, all use the newest", () => {
  expect(chosen([revision(2, { phase: "RolledBack" })], {})).toBe("c-2");
});

test("a percentage takes the same XRs, and about that many", () => {
  const percent = { percent: 20 };
  const revisions = [revision(1), revision(2, { phase: "Canary", canaryBuckets: BUCKETS / 5 }, percent)];
  const xrs = Array.from({ length: 2_000 }, (_, index) => xr(`uid-${index}`));
  const taken = xrs.filter((one) => rolledOutOf(COMPOSITION, revisions, one, true)?.metadata.name === "c-2");
  expect(taken.length).toBeGreaterThan(300);
  expect(taken.length).toBeLessThan(500);
  expect(taken.every((one) => bucketOf(one) < BUCKETS / 5)).toBe(true);
});
