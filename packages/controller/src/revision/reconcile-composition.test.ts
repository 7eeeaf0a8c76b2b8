import { ApiError, type Client, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";

import { latestOf } from "./read-revision.ts";
import { type CompositionPort, revisionReconciler } from "./reconcile-composition.ts";
import { contentHash, hashLabel } from "./revision-name.ts";

const API_VERSION = "apiextensions.crossplane.io/v1";

const COMPOSITION: LiveObject = {
  apiVersion: API_VERSION,
  kind: "Composition",
  metadata: { name: "c", uid: "c", resourceVersion: "1" },
  spec: {
    compositeTypeRef: { apiVersion: "example.org/v1", kind: "XThing" },
    resources: [{ name: "a", base: { apiVersion: "v1", kind: "ConfigMap" } }],
  },
  status: { conditions: [{ type: "Synced", status: "True", reason: "ReconcileSuccess" }] },
};

function revision(name: string, number: number, hash: string): LiveObject {
  const owner = { apiVersion: API_VERSION, kind: "Composition", name: "c", uid: "c", controller: true };
  return {
    apiVersion: API_VERSION,
    kind: "CompositionRevision",
    metadata: {
      name,
      uid: name,
      resourceVersion: "1",
      labels: { "crossplane.io/composition-name": "c", "crossplane.io/composition-hash": hashLabel(hash) },
      ownerReferences: [owner],
    },
    spec: { revision: number },
  };
}

/** The numbers that revisions have after a reconcile; `now` is that of the Composition's content. */
async function reconciled(numbers: Record<string, number>): Promise<Record<string, number>> {
  const after = { ...numbers };
  const items = Object.entries(numbers).map(([name, number]) =>
    revision(name, number, name === "now" ? contentHash(COMPOSITION) : name),
  );
  const client: Partial<Client> = {
    get: async () => COMPOSITION,
    list: async () => ({ items, resourceVersion: "1" }),
    patch: async ({ name }, _type, body) => {
      after[name] = (body as { spec: { revision: number } }).spec.revision;
      return COMPOSITION;
    },
    create: () => Promise.reject(new ApiError("AlreadyExists", "there is one")),
  };
  const informers = { peek: () => undefined };
  const context = {
    client,
    informers,
    events: { record: () => undefined },
    now: () => 0,
  } as unknown as CompositionPort;
  await revisionReconciler(context)("c", new AbortController().signal);
  return after;
}

test.each([
  ["has the number of another", { before: 2, now: 2 }, { before: 2, now: 3 }],
  ["has a lower number than another", { before: 2, now: 1 }, { before: 2, now: 3 }],
  ["has no number", { now: 0 }, { now: 1 }],
  ["has the highest number", { before: 2, now: 3 }, { before: 2, now: 3 }],
])("the revision of the current content becomes the newest if it %s", async (_, before, after) => {
  expect(await reconciled(before)).toEqual(after);
});

test("of two revisions with one number, the same is newest in any order", () => {
  const [a, b] = [revision("a", 2, "a"), revision("b", 2, "b")];
  expect(latestOf(COMPOSITION, [a, b])).toBe(latestOf(COMPOSITION, [b, a]));
  expect(latestOf(COMPOSITION, [a, b, revision("z", 3, "z")])?.metadata.name).toBe("z");
});
