import {
  ApiError,
  CacheBudget,
  type Informer,
  type InformerHandlers,
  type InformerOptions,
  type Informers,
  type LiveObject,
  type ResourceKind,
} from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { type CacheBounds, ComposedKindWatches } from "./composed-watches.ts";

const BUCKETS: ResourceKind = {
  group: "aws.example.org",
  version: "v1",
  kind: "Bucket",
  plural: "buckets",
  namespaced: false,
};
const TOPICS: ResourceKind = {
  group: "aws.example.org",
  version: "v1",
  kind: "Topic",
  plural: "topics",
  namespaced: false,
};

const BOUNDS: CacheBounds = {
  isKnown: ({ uid }) => uid === "uid-a",
  bytes: { composed: new CacheBudget(1000), kindBytes: 500 },
};

/** Informers with a fake API server. */
function stage(): {
  informers: Informers;
  handlers: Map<string, InformerHandlers>;
  selectors: (string | undefined)[];
  acquired: InformerOptions[];
  state: Pick<Informer, "failingSince" | "problem"> & { objects: LiveObject[] };
} {
  const handlers = new Map<string, InformerHandlers>();
  const selectors: (string | undefined)[] = [];
  const acquired: InformerOptions[] = [];
  const state: ReturnType<typeof stage>["state"] = { failingSince: undefined, problem: undefined, objects: [] };
  const informers: Informers = {
    acquire(kind, options) {
      selectors.push(options?.labelSelector);
      acquired.push(options ?? {});
      const informer: Informer = {
        kind,
        synced: true,
        get failingSince() {
          return state.failingSince;
        },
        get problem() {
          return state.problem;
        },
        cache: { get: () => undefined, list: () => state.objects, byIndex: () => [] },
        whenSynced: () => Promise.resolve(),
        addIndexers: () => undefined,
        isWhole: () => true,
        refused: 0,
        complete: () => true,
        subscribe(given) {
          handlers.set(kind.plural, given);
          return () => handlers.delete(kind.plural);
        },
      };
      return { informer, release: () => undefined };
    },
    peek: () => undefined,
    stop: () => Promise.resolve(),
  };
  return { informers, handlers, selectors, acquired, state };
}

function bucket(...owners: { name: string; uid: string; controller?: boolean }[]): LiveObject {
  const ownerReferences = owners.map((owner) => ({
    apiVersion: "example.org/v1",
    kind: "XApp",
    controller: true,
    ...owner,
  }));
  return {
    apiVersion: "aws.example.org/v1",
    kind: "Bucket",
    metadata: { name: "b", uid: "1", resourceVersion: "1", ownerReferences },
  };
}

const A = { name: "a", uid: "uid-a" };
const B = { name: "b", uid: "uid-b" };

test("a change of a resource is reported for the XR that controls it", () => {
  const { informers, handlers, selectors } = stage();
  const reported: string[] = [];
  const watches = new ComposedKindWatches(informers, ({ kind, name }) => reported.push(`${kind}/${name}`), BOUNDS);
  watches.watch("uid-a", [BUCKETS]);
  const { added, updated, deleted } = handlers.get("buckets") ?? {};
  added?.(bucket(A));
  added?.(bucket({ ...A, controller: false }));
  added?.(bucket());
  expect(reported.splice(0)).toEqual(["XApp/a"]);
  updated?.(bucket(A), bucket(A));
  deleted?.(bucket(A));
  expect(reported.splice(0)).toEqual(["XApp/a", "XApp/a"]);
  updated?.(bucket(), bucket(A));
  expect(reported.splice(0)).toEqual(["XApp/a"]);
  updated?.(bucket(B), bucket(A));
  expect(reported.toSorted()).toEqual(["XApp/a", "XApp/b"]);
  expect(selectors).toEqual(["crossplane.io/composite"]);
});

test("a kind has one watch while an XR needs it", () => {
  const { informers, handlers, selectors } = stage();
  const watches = new ComposedKindWatches(informers, () => undefined, BOUNDS);
  watches.watch("uid-a", [BUCKETS, BUCKETS, TOPICS]);
  watches.watch("uid-b", [BUCKETS]);
  expect(selectors).toHaveLength(2);
  expect(watches.size).toBe(2);
  watches.watch("uid-a", [BUCKETS]);
  expect([...handlers.keys()]).toEqual(["buckets"]);
  watches.watch("uid-a", []);
  watches.watch("uid-a", []);
  expect([...handlers.keys()]).toEqual(["buckets"]);
  watches.watch("uid-b", []);
  expect([...handlers.keys()]).toEqual([]);
  expect(watches.cache(BUCKETS)).toBeUndefined();
});

test("a kind is watched in the version that an XR needs", () => {
  const { informers, selectors } = stage();
  const watches = new ComposedKindWatches(informers, () => undefined, BOUNDS);
  watches.watch("uid-a", [BUCKETS]);
  watches.watch("uid-a", [{ ...BUCKETS, version: "v2" }]);
  expect(selectors).toHaveLength(2);
  expect(watches.cache({ ...BUCKETS, version: "v2" })).toBeDefined();
  expect(watches.cache(BUCKETS)).toBeUndefined();
});

test("the caches keep whole only what a known XR controls, share their memory, and say how much has no space", () => {
  const { informers, acquired } = stage();
  const watches = new ComposedKindWatches(informers, () => undefined, BOUNDS);
  watches.watch("uid-a", [BUCKETS, TOPICS]);
  const [buckets, topics] = acquired;
  expect(
    [bucket(A), bucket(B), bucket(), bucket({ ...A, controller: false })].map((one) => buckets?.keepWhole?.(one)),
  ).toEqual([true, false, false, false]);
  expect(buckets).toMatchObject({ budget: BOUNDS.bytes.composed, maxBytes: 500 });
  expect(topics).toEqual(buckets);
  expect(watches.refused).toBe(0);
});

test("a watch that fails for minutes is not used, and the XRs that relied on it are reconciled once", () => {
  const { informers, state } = stage();
  const reported: string[] = [];
  const watches = new ComposedKindWatches(informers, ({ name }) => reported.push(name), BOUNDS);
  watches.watch("uid-a", [BUCKETS]);
  const fail = (problem: unknown, ms: number): unknown[] => {
    Object.assign(state, { problem, failingSince: performance.now() - ms, objects: [bucket(A), bucket()] });
    watches.watchFailed(BUCKETS);
    watches.watchFailed(BUCKETS);
    watches.watchFailed(TOPICS);
    return [watches.cache(BUCKETS) !== undefined, watches.problem(BUCKETS), reported.splice(0)];
  };
  const refused = new ApiError("Forbidden", "may not watch buckets");
  expect(fail(refused, 1_000)).toEqual([true, undefined, []]);
  expect(fail(refused, 10 * 60_000)).toEqual([false, "may not watch buckets", ["a"]]);
  // All watches of a process fail while the server does not answer, and resume one after the other.
  expect(fail(new ApiError("Unreachable", "connection refused"), 20 * 60_000)).toEqual([false, undefined, ["a"]]);
  Object.assign(state, { problem: undefined, failingSince: undefined });
  expect(watches.cache(BUCKETS)).toBeDefined();
  expect([watches.problem(BUCKETS), watches.problem(TOPICS)]).toEqual([undefined, undefined]);
});
