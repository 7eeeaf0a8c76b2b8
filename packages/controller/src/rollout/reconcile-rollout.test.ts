import type { Cache, LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { rolloutReconciler } from "./reconcile-rollout.ts";

const API_VERSION = "apiextensions.crossplane.io/v1";

/** The phases that a reconcile writes. The Composition has two revisions, and no definition has its kind. */
async function phases(annotations: Record<string, string>): Promise<unknown[]> {
  const metadata = { name: "c", uid: "c", resourceVersion: "1", annotations };
  const composition: LiveObject = { apiVersion: API_VERSION, kind: "Composition", metadata };
  const ownerReferences = [{ apiVersion: API_VERSION, kind: "Composition", name: "c", uid: "c", controller: true }];
  const revision = (number: number): LiveObject => ({
    apiVersion: API_VERSION,
    kind: "CompositionRevision",
    metadata: {
      name: `c-${number}`,
      uid: `c-${number}`,
      resourceVersion: "1",
      ownerReferences,
      annotations: number > 1 ? { "apiextensions.crossplane.io/rollout": "true" } : {},
    },
    spec: {
      revision: number,
      compositeTypeRef: { apiVersion: "example.org/v1", kind: "XThing" },
      resources: [],
      rollout: { canary: { percent: 10 } },
    },
  });
  const objects: Record<string, LiveObject[]> = {
    Composition: [composition],
    CompositionRevision: [revision(1), revision(2)],
    CompositeResourceDefinition: [],
  };
  const written: unknown[] = [];
  const context = {
    informers: {
      peek: ({ kind }: { kind: string }): Partial<Cache> | undefined => {
        const found = objects[kind];
        return found && { list: () => found, get: (name) => found.find((one) => one.metadata.name === name) };
      },
    },
    client: {
      patch: async (_: unknown, __: unknown, { status }: { status: { rollout: { phase: unknown } } }) =>
        void written.push(status.rollout.phase),
    },
    events: { record: () => undefined },
    now: () => 0,
  } as unknown as Parameters<typeof rolloutReconciler>[0];
  await rolloutReconciler(context)("c", new AbortController().signal);
  return written;
}

test("a rollout without composite resources is complete", async () => {
  expect(await phases({})).toEqual(["Complete"]);
});

test("the rollout of a paused Composition stays where it is", async () => {
  expect(await phases({ "crossplane.io/paused": "true" })).toEqual([]);
});
