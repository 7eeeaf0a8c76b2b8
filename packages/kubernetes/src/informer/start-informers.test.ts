import { expect, test, vi } from "vitest";
import { type Step, scriptedClient, thing } from "../../testing/scripted-client.ts";
import type { LiveObject, ResourceKind, WatchEvent } from "../client/client.ts";
import { CacheBudget } from "./cache-budget.ts";
import type { Informer } from "./informer.ts";
import { startInformers } from "./start-informers.ts";

const THING: ResourceKind = { group: "", version: "v1", kind: "Thing", plural: "things", namespaced: true };
const BACKOFF = { firstMs: 1, longestMs: 2 };

const added = (object: LiveObject): WatchEvent => ({ type: "ADDED", object });
const modified = (object: LiveObject): WatchEvent => ({ type: "MODIFIED", object });
const deleted = (object: LiveObject): WatchEvent => ({ type: "DELETED", object });
const bookmark = (version: string): WatchEvent => ({ type: "BOOKMARK", object: thing("", version) });

interface Run {
  informer: Informer;
  asked: string[];
  events: string[];
  errors: unknown[];
}

async function run(steps: readonly Step[], check: (run: Run) => Promise<void>): Promise<void> {
  const { client, asked } = scriptedClient(steps);
  const errors: unknown[] = [];
  const informers = startInformers(client, { backoff: BACKOFF, onError: (error) => errors.push(error) });
  const { informer } = informers.acquire(THING);
  const events: string[] = [];
  const log = (type: string, { metadata }: LiveObject): unknown =>
    events.push(`${type} ${metadata.name}@${metadata.resourceVersion}`);
  informer.subscribe({
    added: (object) => log("added", object),
    updated: (object, before) => log(`updated ${before.metadata.resourceVersion} to`, object),
    deleted: (last) => log("deleted", last),
  });
  try {
    await check({ informer, asked, events, errors });
  } finally {
    await informers.stop();
  }
}

test("a list and the following watch fill the cache, and each change is reported once", async () => {
  await run(
    [
      { list: [thing("a", 1), thing("b", 2)], version: "2" },
      {
        watch: [added(thing("c", 3)), modified(thing("a", 4)), deleted(thing("b", 5)), modified(thing("d", 6))],
        last: "hang",
      },
    ],
    async ({ informer, asked, events }) => {
      await informer.whenSynced();
      await expect.poll(() => events.at(-1)).toBe("added d@6");
      expect(events).toEqual(["added a@1", "added b@2", "added c@3", "updated 1 to a@4", "deleted b@5", "added d@6"]);
      expect(informer.cache.list().map(({ metadata }) => metadata.name)).toEqual(["a", "c", "d"]);
      expect(informer.cache.get("a", "default")?.metadata.resourceVersion).toBe("4");
      expect(informer.cache.list("other")).toEqual([]);
      expect(asked).toEqual(["list", "watch 2"]);
    },
  );
});

test("a watch resumes at its last event or bookmark after a failed connection, without a list", async () => {
  await run(
    [
      { list: [], version: "1" },
      { watch: [added(thing("a", 5)), bookmark("9")], last: "Unreachable" },
      { watch: [], last: "Unreachable" },
      { watch: [], last: "Busy" },
      { watch: [added(thing("b", 12))], last: "hang" },
    ],
    async ({ asked, events }) => {
      await expect.poll(() => events).toEqual(["added a@5", "added b@12"]);
      expect(asked).toEqual(["list", "watch 1", "watch 9", "watch 9", "watch 9"]);
    },
  );
});

test("after the server ended a watch, a list reports objects that have new defaults in the same version", async () => {
  const defaulted = { ...thing("a", 1), spec: { size: 3 } };
  await run(
    [
      { list: [thing("a", 1), thing("b", 2)], version: "2" },
      { watch: [], last: "end" },
      { list: [defaulted, thing("b", 2)], version: "3" },
      { watch: [], last: "hang" },
    ],
    async ({ informer, asked, events, errors }) => {
      await expect.poll(() => asked).toEqual(["list", "watch 2", "list", "watch 3"]);
      expect(events.slice(2)).toEqual(["updated 1 to a@1"]);
      expect(informer.cache.get("a", "default")).toEqual(defaulted);
      expect(errors).toEqual([]);
    },
  );
});

test("a watch whose time is up continues without a list", async () => {
  vi.useFakeTimers();
  try {
    const { client, asked } = scriptedClient([
      { list: [thing("a", 1)], version: "1" },
      { watch: [bookmark("7")], last: "end", ms: 600_000 },
      { watch: [], last: "hang" },
    ]);
    const informers = startInformers(client, { backoff: BACKOFF });
    informers.acquire(THING);
    await vi.advanceTimersByTimeAsync(700_000);
    expect(asked).toEqual(["list", "watch 1", "watch 7"]);
    await informers.stop();
  } finally {
    vi.useRealTimers();
  }
});

test("after 410, a list reports missed deletions, changes, and objects that were created again", async () => {
  await run(
    [
      { list: [thing("a", 1), thing("b", 2), thing("c", 3), thing("same", 4)], version: "4" },
      { watch: [], last: "Expired" },
      { list: [thing("b", 20), thing("c", 30, { uid: "another" }), thing("same", 4), thing("d", 40)], version: "50" },
      { watch: [], last: "hang" },
    ],
    async ({ asked, events, errors }) => {
      await expect.poll(() => asked).toEqual(["list", "watch 4", "list", "watch 50"]);
      expect(events.slice(4)).toEqual(["deleted a@1", "updated 2 to b@20", "deleted c@3", "added c@30", "added d@40"]);
      expect(errors).toEqual([]);
    },
  );
});

test("a kind that can be listed but not watched is listed with backoff", async () => {
  vi.useFakeTimers();
  try {
    for (const code of ["Forbidden", "Invalid", "ServerError", "Expired"] as const) {
      const steps = Array.from({ length: 1000 }, (): Step[] => [
        { list: [], version: "1" },
        { watch: [], last: code },
      ]).flat();
      const { client, asked } = scriptedClient(steps);
      const informers = startInformers(client, { backoff: { firstMs: 1, longestMs: 1000 } });
      informers.acquire(THING);
      await vi.advanceTimersByTimeAsync(2_000);
      expect(asked.filter((what) => what === "list").length).toBeLessThan(20);
      await informers.stop();
    }
  } finally {
    vi.useRealTimers();
  }
});

test.each<[string, readonly Step[]]>([
  ["delivered an event", [{ watch: [bookmark("1")], last: "Unreachable" }]],
  [
    "was quiet for some time",
    [
      { watch: [], last: "end", ms: 5_000 },
      { list: [], version: "1" },
    ],
  ],
])("a watch that %s resets the backoff", async (_, good) => {
  vi.useFakeTimers();
  try {
    const steps = Array.from({ length: 40 }, (): Step[] => [{ watch: [], last: "Unreachable" }, ...good]).flat();
    const { client, asked } = scriptedClient([{ list: [], version: "1" }, ...steps, { watch: [], last: "hang" }]);
    // Without the reset, the last watches would wait for days.
    const informers = startInformers(client, { backoff: { firstMs: 1, longestMs: 2 ** 30 } });
    informers.acquire(THING);
    await vi.advanceTimersByTimeAsync(300_000);
    expect(asked).toHaveLength(steps.length + 2);
    await informers.stop();
  } finally {
    vi.useRealTimers();
  }
});

test("the state of a server that was restored from a backup replaces the cache", async () => {
  await run(
    [
      { list: [thing("a", 9)], version: "10" },
      // Its versions are ahead of the server's: "Too large resource version".
      { watch: [], last: "Timeout" },
      { list: [thing("a", 5)], version: "6" },
      { watch: [], last: "hang" },
    ],
    async ({ informer, asked, events }) => {
      await expect.poll(() => asked).toEqual(["list", "watch 10", "list", "watch 6"]);
      expect(informer.failingSince).toBeUndefined();
      expect(events).toEqual(["added a@9", "updated 9 to a@5"]);
      expect(informer.cache.get("a", "default")?.metadata.resourceVersion).toBe("5");
    },
  );
});

test("repeated and outdated events change nothing", async () => {
  await run(
    [
      { list: [thing("a", 9)], version: "10" },
      {
        watch: [
          added(thing("a", 9)),
          modified(thing("a", 8)),
          deleted(thing("a", 7, { uid: "one before" })),
          deleted(thing("never seen", 8)),
          modified(thing("a", 11)),
        ],
        last: "hang",
      },
    ],
    async ({ events }) => {
      await expect.poll(() => events).toEqual(["added a@9", "updated 9 to a@11"]);
    },
  );
});

test("an unavailable server or kind is retried, and each failure is reported", async () => {
  await run(
    [
      { listFails: "Unreachable" },
      { listFails: "KindNotServed" },
      { listFails: "Forbidden" },
      { list: [thing("a", 1)], version: "1" },
      { watch: [], last: "KindNotServed" },
      { list: [], version: "3" },
      { watch: [], last: "hang" },
    ],
    async ({ informer, asked, events, errors }) => {
      await informer.whenSynced();
      await expect.poll(() => asked).toHaveLength(7);
      expect(events).toEqual(["added a@1", "deleted a@1"]);
      expect(errors).toMatchObject(
        ["Unreachable", "KindNotServed", "Forbidden", "KindNotServed"].map((code) => ({ code })),
      );
    },
  );
});

test("indexes follow their objects, whether added before or after them", async () => {
  await run(
    [
      { list: [thing("a", 1, { labels: { of: "x" } }), thing("b", 2, { labels: { of: "x" } })], version: "2" },
      {
        watch: [
          modified(thing("a", 3, { labels: { of: "y" } })),
          deleted(thing("b", 4)),
          added(thing("c", 5, { labels: { of: "y" } })),
        ],
        last: "hang",
      },
    ],
    async ({ informer, events }) => {
      const keys = (object: LiveObject): string[] => Object.values(object.metadata.labels ?? {}).map(String);
      informer.addIndexers({ early: keys });
      await expect.poll(() => events).toHaveLength(5);
      informer.addIndexers({ late: keys });
      for (const index of ["early", "late"]) {
        expect(informer.cache.byIndex(index, "x")).toEqual([]);
        expect(informer.cache.byIndex(index, "y").map(({ metadata }) => metadata.name)).toEqual(["a", "c"]);
      }
      expect(() => informer.cache.byIndex("none", "x")).toThrow(TypeError);
    },
  );
});

test("a handler that throws is reported, and affects neither the others nor the cache", async () => {
  await run(
    [
      { list: [thing("a", 1)], version: "1" },
      { watch: [added(thing("b", 2))], last: "hang" },
    ],
    async ({ informer, events, errors }) => {
      informer.subscribe({
        added: () => {
          throw new Error("a mistake");
        },
      });
      await expect.poll(() => events).toEqual(["added a@1", "added b@2"]);
      expect(errors).toHaveLength(2);
    },
  );
});

test("an object whose indexer throws is in the cache, and so are the others", async () => {
  await run(
    [
      { list: [], version: "1" },
      { watch: [added(thing("bad", 2)), added(thing("good", 3))], last: "hang" },
    ],
    async ({ informer, events, asked, errors }) => {
      informer.addIndexers({
        names({ metadata }) {
          if (metadata.name === "bad") throw new Error("a mistake");
          return [metadata.name];
        },
      });
      await expect.poll(() => events).toEqual(["added bad@2", "added good@3"]);
      expect(informer.cache.byIndex("names", "good")).toHaveLength(1);
      expect(informer.cache.get("bad", "default")).toBeDefined();
      expect(asked).toEqual(["list", "watch 1"]);
      expect(errors).toHaveLength(1);
    },
  );
});

test("a late subscriber gets all cached objects, and nothing after it unsubscribes", async () => {
  await run(
    [
      { list: [thing("a", 1)], version: "1" },
      { watch: [], last: "hang" },
    ],
    async ({ informer }) => {
      await informer.whenSynced();
      const late: string[] = [];
      const leave = informer.subscribe({ added: ({ metadata }) => late.push(metadata.name) });
      leave();
      expect(late).toEqual(["a"]);
    },
  );
});

test("users share an informer by kind and options, and it ends with the last of them", async () => {
  const { client, asked } = scriptedClient([]);
  const informers = startInformers(client);
  const one = informers.acquire(THING);
  const two = informers.acquire({ ...THING });
  expect(two.informer).toBe(one.informer);
  const options = [
    { labelSelector: "a=b" },
    { fieldSelector: "a=b" },
    { namespace: "a=b" },
    { metadataOnly: true },
    { maxBytes: 1 },
    { budget: new CacheBudget(1) },
    { keepWhole: () => true },
    { keepWhole: () => false },
  ];
  const others = options.map((option) => informers.acquire(THING, option).informer);
  expect(new Set([one.informer, ...others]).size).toBe(9);
  for (const option of options) expect(informers.peek(THING, option)).toBeUndefined();
  expect(informers.peek(THING)).toBeUndefined();
  one.release();
  one.release();
  expect(informers.acquire(THING).informer).toBe(two.informer);
  two.release();
  expect(asked).toEqual(Array.from({ length: 9 }, () => "list"));
  await informers.stop();
  expect(() => informers.acquire(THING)).toThrow(TypeError);
});

test("waiting for the first list can be aborted", async () => {
  const { client } = scriptedClient([]);
  const informers = startInformers(client);
  const reason = new Error("enough");
  await expect(informers.acquire(THING).informer.whenSynced(AbortSignal.abort(reason))).rejects.toBe(reason);
  await informers.stop();
});

const MB = "x".repeat(1024 * 1024);

/** The objects of an informer's cache: their names, and whether they are whole. */
const formsIn = (informer: Informer): string[] =>
  informer.cache.list().map((object) => `${object.metadata.name}${informer.isWhole(object) ? "" : " stub"}`);

test("objects that are not wanted whole are stubs, whether listed or watched, and their changes are reported", async () => {
  const large = (name: string, version: number, controller?: string): LiveObject =>
    thing(name, version, { labels: { a: MB }, data: MB, ...(controller === undefined ? {} : { controller }) });
  const { client } = scriptedClient([
    { list: [large("mine", 1, "xr"), large("other", 2, "them")], version: "2" },
    {
      watch: [added(large("none", 3)), modified(large("mine", 4, "xr")), modified(large("other", 5, "us"))],
      last: "hang",
    },
  ]);
  const informers = startInformers(client);
  const keepWhole = ({ metadata }: LiveObject): boolean => JSON.stringify(metadata["ownerReferences"])?.includes("xr");
  const { informer } = informers.acquire(THING, { keepWhole });
  const updates: string[] = [];
  informer.subscribe({ updated: ({ metadata }) => updates.push(metadata.name) });
  await expect.poll(() => updates).toEqual(["mine", "other"]);
  expect(formsIn(informer)).toEqual(["mine", "other stub", "none stub"]);
  expect(JSON.stringify(informer.cache.get("other", "default"))).toBe(
    JSON.stringify({
      apiVersion: "v1",
      kind: "Thing",
      metadata: {
        name: "other",
        namespace: "default",
        uid: "uid-other",
        resourceVersion: "5",
        ownerReferences: [{ uid: "us", controller: true }],
      },
    }),
  );
  expect(informer.refused).toBe(0);
  await informers.stop();
});

test("a bounded cache keeps stubs of what does not fit, until there is space", async () => {
  const large = (name: string, version: number): LiveObject => thing(name, version, { data: MB });
  const { client } = scriptedClient([
    { list: [large("a", 1), large("b", 2), thing("c", 3)], version: "3" },
    {
      watch: [modified(large("a", 4)), added(large("d", 5)), modified(thing("a", 6)), modified(large("b", 7))],
      last: "Expired",
    },
    { list: [large("a", 8), large("b", 9), large("d", 5)], version: "9" },
    { watch: [deleted(large("a", 10))], last: "hang" },
  ]);
  const informers = startInformers(client, { backoff: BACKOFF });
  const { informer } = informers.acquire(THING, { maxBytes: 1.5 * 1024 * 1024 });
  const seen: string[][] = [];
  const look = (): unknown => seen.push([...formsIn(informer), String(informer.refused)]);
  informer.subscribe({ updated: look, deleted: look });
  await expect.poll(() => informer.cache.get("a", "default") === undefined && seen.length > 3).toBe(true);
  // The change of a, its shrinking, and the change of b, for which there is space then.
  expect(seen.slice(0, 3)).toEqual([
    ["a", "b stub", "c", "1"],
    ["a", "b stub", "c", "d stub", "2"],
    ["a", "b", "c", "d stub", "1"],
  ]);
  expect(seen.at(-1)).toEqual(["b stub", "d stub", "2"]);
  // A read completes a stub of the same version.
  expect(informer.complete(large("b", 8))).toBe(false);
  expect(formsIn(informer)).toEqual(["b stub", "d stub"]);
  expect(informer.complete(large("b", 9))).toBe(true);
  expect(informer.complete(large("d", 5))).toBe(false);
  expect(formsIn(informer)).toEqual(["b", "d stub"]);
  expect(informer.refused).toBe(1);
  await informers.stop();
});

test("informers share a budget, and one that ends gives its part back", async () => {
  const large = (name: string): LiveObject => thing(name, 1, { data: MB });
  const steps: Step[] = [
    { list: [large("a"), large("b")], version: "1" },
    { watch: [], last: "hang" },
    { list: [large("c")], version: "1" },
    { watch: [], last: "hang" },
    { list: [large("c")], version: "1" },
    { watch: [], last: "hang" },
  ];
  const informers = startInformers(scriptedClient(steps).client);
  const budget = new CacheBudget(2.5 * 1024 * 1024);
  const one = informers.acquire(THING, { budget, labelSelector: "one" });
  await one.informer.whenSynced();
  const two = informers.acquire(THING, { budget, labelSelector: "two" });
  await two.informer.whenSynced();
  expect([...formsIn(one.informer), ...formsIn(two.informer)]).toEqual(["a", "b", "c stub"]);
  one.release();
  const three = informers.acquire(THING, { budget, labelSelector: "three" });
  await three.informer.whenSynced();
  expect(formsIn(three.informer)).toEqual(["c"]);
  // A read that began before the release ends after it.
  two.release();
  two.informer.complete(large("c"));
  await informers.stop();
  expect(budget.usedBytes).toBe(0);
});

test("a projection decides what the cache keeps of listed and of watched objects", async () => {
  const { client } = scriptedClient([
    { list: [thing("a", 1)], version: "1" },
    { watch: [added(thing("b", 2))], last: "hang" },
  ]);
  const informers = startInformers(client, { backoff: BACKOFF });
  const project = ({ apiVersion, kind, metadata }: LiveObject): LiveObject => ({
    apiVersion,
    kind,
    metadata: { ...metadata, uid: "projected" },
  });
  const { informer } = informers.acquire(THING, { project });
  try {
    await expect
      .poll(() => informer.cache.list().map(({ metadata }) => metadata.uid))
      .toEqual(["projected", "projected"]);
    expect(informers.acquire(THING).informer).not.toBe(informer);
  } finally {
    await informers.stop();
  }
});
