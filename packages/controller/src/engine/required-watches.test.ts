import {
  CacheBudget,
  type Informer,
  type InformerHandlers,
  type Informers,
  type LiveObject,
  type ResourceKind,
} from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { RequiredObjectWatches } from "./required-watches.ts";

const CONFIG_MAPS: ResourceKind = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
};
const byName = (name: string) => ({ kind: CONFIG_MAPS, namespace: "a", fieldSelector: `metadata.name=${name}` });
const xr = (name: string): LiveObject => ({
  apiVersion: "example.org/v1",
  kind: "XApp",
  metadata: { name, uid: name, resourceVersion: "1" },
});
/** An XR that is named after its namespace. */
const inNamespace = (namespace: string): LiveObject => {
  const { metadata, ...rest } = xr(namespace);
  return { ...rest, metadata: { ...metadata, namespace } };
};
const changed: LiveObject = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "c", uid: "c", resourceVersion: "1" },
};

const BUDGET = new CacheBudget(1000);

/** Required-object watches with a fake API server. */
function stage({ refused = 0, failingForMs }: { refused?: number; failingForMs?: number } = {}): {
  watches: RequiredObjectWatches;
  open: Map<string, InformerHandlers | undefined>;
  enqueued: string[];
} {
  const open = new Map<string, InformerHandlers | undefined>();
  const enqueued: string[] = [];
  const informers: Informers = {
    acquire(kind, selection) {
      const { budget, maxBytes, ...named } = selection ?? {};
      expect(budget).toBe(BUDGET);
      expect(maxBytes).toBeLessThanOrEqual(8 * 1024 * 1024);
      const key = JSON.stringify(named);
      open.set(key, undefined);
      const informer: Informer = {
        kind,
        synced: true,
        cache: { get: () => undefined, list: () => [], byIndex: () => [] },
        whenSynced: () => Promise.resolve(),
        addIndexers: () => undefined,
        isWhole: () => true,
        refused,
        failingSince: failingForMs === undefined ? undefined : performance.now() - failingForMs,
        complete: () => true,
        subscribe(handlers) {
          open.set(key, handlers);
          return () => open.set(key, undefined);
        },
      };
      return { informer, release: () => void open.delete(key) };
    },
    peek: () => undefined,
    stop: () => Promise.resolve(),
  };
  const watches = new RequiredObjectWatches(informers, ({ metadata }) => void enqueued.push(metadata.name), BUDGET);
  return { watches, open, enqueued };
}

test("a change of a selected object reconciles only the XRs that it concerns, before or after the change", () => {
  const { watches, open, enqueued } = stage();
  const all = (label: string) => ({
    kind: CONFIG_MAPS,
    concerns: ({ metadata }: LiveObject) => metadata.labels?.["stage"] === label,
  });
  watches.watch(xr("dev"), [all("dev")]);
  watches.watch(xr("prod"), [all("prod")]);
  expect(watches.size).toBe(1);
  const [handlers] = open.values();
  const labelled = (label: string) => ({ ...changed, metadata: { ...changed.metadata, labels: { stage: label } } });
  handlers?.added?.(labelled("dev"));
  expect(enqueued.splice(0)).toEqual(["dev"]);
  handlers?.updated?.(labelled("prod"), labelled("dev"));
  expect(enqueued.splice(0)).toEqual(["dev", "prod"]);
  handlers?.deleted?.(labelled("test"));
  expect(enqueued).toEqual([]);
});

test("a change of a required object reconciles the XRs that require it, and no others", () => {
  const { watches, open, enqueued } = stage();
  watches.watch(xr("one"), [byName("c")]);
  watches.watch(xr("two"), [byName("c"), { kind: CONFIG_MAPS, labelSelector: "a=b" }]);
  watches.watch(xr("three"), [byName("other")]);
  expect([...open.keys()]).toEqual([
    '{"namespace":"a","fieldSelector":"metadata.name=c"}',
    '{"labelSelector":"a=b"}',
    '{"namespace":"a","fieldSelector":"metadata.name=other"}',
  ]);
  const [first, second] = [...open.values()];
  first?.updated?.(changed, changed);
  expect(enqueued.splice(0)).toEqual(["one", "two"]);
  second?.added?.(changed);
  second?.deleted?.(changed);
  expect(enqueued.splice(0)).toEqual(["two", "two"]);
});

test("a watch ends with the last XR that requires it", () => {
  const { watches, open } = stage();
  watches.watch(xr("one"), [byName("c"), byName("d")]);
  watches.watch(xr("two"), [byName("c")]);
  watches.watch(xr("one"), [byName("d")]);
  expect(open.size).toBe(2);
  expect(watches.cache(byName("c"))).toBeDefined();
  watches.forget("two");
  expect(watches.cache(byName("c"))).toBeUndefined();
  expect(open.size).toBe(1);
  watches.watch(xr("one"), []);
  expect(open.size).toBe(0);
  watches.watch(xr("one"), [byName("c")]);
  watches.stop();
  expect(open.size).toBe(0);
});

test("there are at most a thousand watches; what has none is read live", () => {
  const { watches, open } = stage();
  const tenants = Array.from({ length: 1_001 }, (_, index) => `t${index}`);
  for (const tenant of tenants) watches.watch(inNamespace(tenant), [byName(tenant)]);
  expect([watches.size, open.size]).toEqual([1_000, 1_000]);
  expect(watches.cache(byName("t1000"))).toBeUndefined();
  for (const tenant of tenants) watches.forget(tenant);
  expect([watches.size, open.size]).toEqual([0, 0]);
});

test("a tenant can have as many watches as are free, so that others get some", () => {
  const { watches } = stage();
  const many = (tenant: string) => Array.from({ length: 1_001 }, (_, index) => byName(`${tenant}-${index}`));
  watches.watch(inNamespace("a"), many("a"));
  expect(watches.size).toBe(500);
  watches.watch(inNamespace("b"), many("b"));
  expect(watches.size).toBe(750);
  const claimed = { ...xr("c"), spec: { claimRef: { namespace: "b" } } };
  watches.watch(claimed, many("c"));
  expect(watches.size).toBe(750);
  watches.watch(xr("d"), many("d"));
  expect(watches.size).toBe(875);
  watches.forget("a");
  watches.watch(inNamespace("a"), [byName("again")]);
  expect(watches.cache(byName("again"))).toBeDefined();
});

test("a selection with objects for which there is no space is read live", () => {
  const { watches } = stage({ refused: 3 });
  watches.watch(xr("one"), [byName("c")]);
  expect(watches.cache(byName("c"))).toBeUndefined();
  expect(watches.refused).toBe(3);
});

test("a watch that fails for long is read live, and one that fails for a moment is not", () => {
  const known = (failingForMs: number): boolean => {
    const { watches } = stage({ failingForMs });
    watches.watch(xr("one"), [byName("c")]);
    return watches.cache(byName("c")) !== undefined;
  };
  expect(known(1_000)).toBe(true);
  expect(known(10 * 60_000)).toBe(false);
});
