import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { APPS, BUCKETS, bucketOf, definition, object, settle, start, xr } from "../../testing/engine-stage.ts";
import {
  COMPOSITIONS,
  DEFINITIONS,
  ENVIRONMENT_CONFIGS,
  REVISIONS,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../objects/kinds.ts";

// A change of an object from which an XR is composed reconciles that XR, by an index or a watch, and no other XR.
// Functions, their runtimes and ImageConfigs are in package-controllers.test.ts.

const TYPE = { compositeTypeRef: { apiVersion: "example.org/v1", kind: "XApp" } };

const composition = (name: string, meta: object = {}, spec: object = TYPE): LiveObject =>
  object(COMPOSITIONS, name, { spec }, meta);

const revision = (name: string, of: string): LiveObject => {
  const owner = {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    name: of,
    uid: of,
    controller: true,
  };
  return object(REVISIONS, name, { spec: TYPE }, { ownerReferences: [owner] });
};

interface Stage extends ReturnType<typeof start> {
  /** The XRs that a change reconciles. */
  reconciles(change: () => void): Promise<string[]>;
}

/** XRs that use the Composition `one` by name, by revision and by selector, and an XR of another Composition. */
async function stage(more: Parameters<typeof definition>[0] = {}): Promise<Stage> {
  const started = start();
  const { informers, seen } = started;
  informers.put(DEFINITIONS, definition(more));
  informers.put(COMPOSITIONS, composition("one"));
  informers.put(APPS, xr("named", { compositionRef: { name: "one" } }));
  informers.put(APPS, xr("pinned", { compositionRevisionRef: { name: "one-1" }, compositionRef: { name: "old" } }));
  informers.put(APPS, xr("selecting", { compositionSelector: { matchLabels: { tier: "gold" } } }));
  informers.put(APPS, xr("foreign", { compositionRef: { name: "foreign" } }));
  await settle();
  return {
    ...started,
    async reconciles(change) {
      seen.length = 0;
      change();
      await settle();
      return seen
        .filter((what) => what.startsWith("XApp"))
        .map((what) => what.slice("XApp ".length))
        .toSorted();
    },
  };
}

type Change = (informers: Stage["informers"]) => void;

describe("a Composition", () => {
  test.each<[string, Change]>([
    ["that appears", ({ put }) => put(COMPOSITIONS, composition("two"))],
    ["that gets a label", ({ put }) => put(COMPOSITIONS, composition("two", { labels: { tier: "gold" } }))],
    ["written with from", ({ put }) => put(COMPOSITIONS, composition("two", {}, { from: TYPE.compositeTypeRef }))],
  ])("%s reconciles XRs that have none", async (_, change) => {
    const { informers, reconciles } = await stage();
    expect(await reconciles(() => change(informers))).toEqual(["selecting"]);
  });

  test.each<[string, Change]>([
    ["whose labels change", ({ put }) => put(COMPOSITIONS, composition("one", { labels: { tier: "gold" } }))],
    ["whose spec changes", ({ put }) => put(COMPOSITIONS, composition("one", { generation: 2 }))],
    ["that is deleted", ({ remove }) => remove(COMPOSITIONS, "one")],
  ])("%s reconciles the XRs that use it, and those that have none", async (_, change) => {
    const { informers, reconciles } = await stage();
    expect(await reconciles(() => change(informers))).toEqual(["named", "selecting"]);
  });

  test("whose status changes reconciles none", async () => {
    const { informers, reconciles } = await stage();
    const changed = { ...composition("one"), status: { conditions: [] } };
    expect(await reconciles(() => informers.put(COMPOSITIONS, changed))).toEqual([]);
  });

  test("that the definition enforces reconciles all XRs, even if they name another one, and so does its revision", async () => {
    const { informers, reconciles } = await stage({ enforced: "late" });
    const all = ["foreign", "named", "pinned", "selecting"];
    expect(await reconciles(() => informers.put(COMPOSITIONS, composition("late")))).toEqual(all);
    expect(await reconciles(() => informers.put(REVISIONS, revision("late-1", "late")))).toEqual(all);
    expect(await reconciles(() => informers.remove(COMPOSITIONS, "late"))).toEqual(all);
  });
});

test.each<[string, Change]>([
  ["appears", ({ put }) => put(REVISIONS, revision("one-1", "one"))],
  ["is deleted", ({ remove }) => remove(REVISIONS, "one-1")],
])("a revision that %s reconciles the XRs that use it, by name too", async (what, change) => {
  const { informers, reconciles } = await stage();
  if (what === "is deleted") await reconciles(() => informers.put(REVISIONS, revision("one-1", "one")));
  expect(await reconciles(() => change(informers))).toEqual(["named", "pinned", "selecting"]);
});

test("a definition that changes reconciles all its XRs", async () => {
  const { informers, reconciles } = await stage();
  const change = (): void => informers.put(DEFINITIONS, definition({ generation: 2, enforced: "one" }));
  expect(await reconciles(change)).toEqual(["foreign", "named", "pinned", "selecting"]);
});

test("a composed resource reconciles its XR", async () => {
  const { informers, composed, reconciles } = await stage();
  composed()?.watch("uid-named", [BUCKETS]);
  await settle();
  expect(await reconciles(() => informers.put(BUCKETS, bucketOf("named")))).toEqual(["named"]);
});

test.each<[string, ResourceKind, "required" | "inputs"]>([
  ["an EnvironmentConfig", ENVIRONMENT_CONFIGS, "required"],
  ["a Secret of credentials or with a pull secret", SECRETS, "inputs"],
  ["a service account", SERVICE_ACCOUNTS, "inputs"],
])("%s that appears, changes or goes reconciles the XRs that read it", async (_, kind, purpose) => {
  const { informers, required, reconciles } = await stage();
  required()?.watch(xr("named"), [{ kind }], purpose);
  // Selections with another purpose stay.
  required()?.watch(xr("named"), [], purpose === "inputs" ? "required" : "inputs");
  await settle();
  const read = (version: string): LiveObject => object(kind, "read", {}, { resourceVersion: version });
  expect(await reconciles(() => informers.put(kind, read("1")))).toEqual(["named"]);
  expect(await reconciles(() => informers.put(kind, read("2")))).toEqual(["named"]);
  expect(await reconciles(() => informers.remove(kind, "read"))).toEqual(["named"]);
  required()?.forget("uid-named");
  expect(await reconciles(() => informers.put(kind, read("3")))).toEqual([]);
});
