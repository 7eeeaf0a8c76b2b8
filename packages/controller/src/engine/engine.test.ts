import type { Client, LiveObject, ResourceKind } from "@xfn/kubernetes";
import { afterEach, expect, test } from "vitest";
import { type FakeInformers, fakeInformers } from "../../test-support/fake-informers.ts";
import { readDefinition } from "../definition/read-definition.ts";
import type { Context } from "../objects/context.ts";
import { COMPOSITIONS, CRDS, DEFINITIONS, REVISIONS } from "../objects/kinds.ts";
import { type Engine, startEngine } from "./engine.ts";

const APPS: ResourceKind = { group: "example.org", version: "v1", kind: "XApp", plural: "xapps", namespaced: false };
const CLAIMS: ResourceKind = { group: "example.org", version: "v1", kind: "App", plural: "apps", namespaced: true };
const BUCKETS: ResourceKind = { group: "aws.org", version: "v1", kind: "Bucket", plural: "buckets", namespaced: false };

let engine: Engine | undefined;

afterEach(async () => {
  await engine?.stop();
});

/** Starts an engine whose reconcilers only record their keys. */
function start(
  reconciled: (what: string) => Promise<void> | void = () => undefined,
  informers: FakeInformers = fakeInformers(),
): {
  informers: FakeInformers;
  seen: string[];
  composed(): Context["composed"];
} {
  const seen: string[] = [];
  let composed: Context["composed"];
  const client = { forgetKinds: () => undefined, kind: () => Promise.resolve(BUCKETS) } as unknown as Client;
  const quiet = (): void => undefined;
  const base: Context = {
    client,
    informers,
    events: { record: quiet, flush: () => Promise.resolve() },
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    namespace: "xfn",
    pullSecretNamespaces: [],
    pollIntervalMs: 60_000,
    now: Date.now,
  };
  const reconciler = (kind: string) => async (key: string) => {
    seen.push(`${kind} ${key}`);
    await reconciled(`${kind} ${key}`);
    return undefined;
  };
  engine = startEngine(
    base,
    (context) => {
      composed = context.composed;
      return {
        definition: reconciler("definition"),
        revision: reconciler("composition"),
        composite: ({ spec }) => reconciler(`${spec.names.kind}${spec.connectionSecretKeys.join("")}`),
        claim: ({ spec }) => reconciler(spec.claimNames?.kind ?? ""),
        readDefinition,
      };
    },
    { concurrency: 16 },
  );
  return { informers, seen, composed: () => composed };
}

/** Waits until only timers are pending. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function object(kind: ResourceKind, name: string, more: object = {}, meta: object = {}): LiveObject {
  const metadata = { name, uid: `uid-${name}`, resourceVersion: "1", generation: 1, ...meta };
  return { apiVersion: `${kind.group}/${kind.version}`, kind: kind.kind, metadata, ...more } as LiveObject;
}

function definition(
  options: {
    conditions?: string[];
    controllers?: object;
    keys?: string[];
    generation?: number;
    plural?: string;
    version?: string;
    meta?: object;
  } = {},
): LiveObject {
  const { conditions = ["Established", "Offered"], controllers = {}, keys = [], generation = 1, meta = {} } = options;
  const { plural = "xapps", version = "v1" } = options;
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } };
  const spec = {
    group: "example.org",
    names: { kind: "XApp", plural },
    claimNames: { kind: "App", plural: plural.slice(1) },
    connectionSecretKeys: keys,
    versions: [{ name: version, served: true, referenceable: true, schema }],
  };
  const status = { conditions: conditions.map((type) => ({ type, status: "True" })), controllers };
  return object(DEFINITIONS, `${plural}.example.org`, { spec, status }, { generation, ...meta });
}

const xr = (name: string, spec: object = {}): LiveObject => object(APPS, name, { spec });

test("instances are reconciled when their definition is established, claims when it is offered", async () => {
  const { informers, seen } = start();
  informers.put(APPS, xr("a"));
  informers.put(CLAIMS, object(CLAIMS, "c", {}, { namespace: "team" }));
  informers.put(DEFINITIONS, definition({ conditions: [] }));
  await settle();
  expect(seen.splice(0)).toEqual(["definition xapps.example.org"]);
  informers.put(DEFINITIONS, definition({ conditions: ["Established"] }));
  await settle();
  expect(seen.splice(0)).toEqual(["definition xapps.example.org", "XApp a"]);
  informers.put(DEFINITIONS, definition());
  await settle();
  expect(seen.splice(0)).toEqual(["definition xapps.example.org", "App team/c"]);
});

test("no XR is reconciled before revisions are listed: it would report that there is none", async () => {
  const informers = fakeInformers();
  const release = informers.delay(REVISIONS);
  const { seen } = start(undefined, informers);
  informers.put(DEFINITIONS, definition());
  informers.put(APPS, xr("a"));
  await settle();
  expect(seen).toEqual([]);
  release();
  await settle();
  expect(seen).toContain("XApp a");
});

test("no claim is reconciled before composites are listed: it would create another one", async () => {
  const { informers, seen } = start();
  const release = informers.delay(APPS);
  informers.put(DEFINITIONS, definition());
  informers.put(CLAIMS, object(CLAIMS, "c", {}, { namespace: "team" }));
  await settle();
  expect(seen).toEqual(["definition xapps.example.org"]);
  release();
  await settle();
  expect(seen).toContain("App team/c");
});

test("a definition that is being deleted has controllers until it is gone, also after a restart", async () => {
  const { informers, seen } = start();
  const controllers = {
    compositeResourceType: { apiVersion: "example.org/v1", kind: "XApp" },
    compositeResourceClaimType: { apiVersion: "example.org/v1", kind: "App" },
  };
  const meta = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  informers.put(DEFINITIONS, definition({ conditions: [], controllers, meta }));
  informers.put(APPS, xr("a"));
  await settle();
  expect(seen).toContain("XApp a");
  expect(informers.watched).toContain("xapps");
  expect(informers.watched).toContain("apps");
  informers.remove(DEFINITIONS, "xapps.example.org");
  await settle();
  expect(informers.watched).not.toContain("xapps");
  expect(informers.watched).not.toContain("apps");
});

/** A bucket that an XR has composed. */
const bucketOf = (xrName: string): LiveObject => {
  const owner = { apiVersion: "example.org/v1", kind: "XApp", name: xrName, uid: `uid-${xrName}`, controller: true };
  return object(BUCKETS, `of-${xrName}`, {}, { ownerReferences: [owner] });
};

/** The stored version of composites in a definition's status. */
const stores = (version: string): object => ({
  compositeResourceType: { apiVersion: `example.org/${version}`, kind: "XApp" },
});

test("a refused version ends no controller, and is used as soon as the server stores it", async () => {
  const { informers, seen } = start();
  informers.put(DEFINITIONS, definition({ controllers: stores("v1") }));
  informers.put(APPS, xr("a"));
  await settle();
  const refused = { version: "v2", keys: ["!"], generation: 2, conditions: [], controllers: stores("v1") };
  informers.put(DEFINITIONS, definition(refused));
  await settle();
  seen.splice(0);
  informers.put(APPS, xr("b"));
  await settle();
  expect(seen).toEqual(["XApp b"]);
  informers.put({ ...APPS, version: "v2" }, xr("c"));
  informers.put(DEFINITIONS, definition({ ...refused, conditions: ["Established"], controllers: stores("v2") }));
  await settle();
  expect(seen).toContain("XApp! c");
});

test("a controller that starts while the server refuses a change reconciles the served version", async () => {
  const { informers, seen } = start();
  informers.put(APPS, xr("a"));
  informers.put(DEFINITIONS, definition({ generation: 2, conditions: [], controllers: stores("v1") }));
  await settle();
  expect(seen).toContain("XApp a");
});

test("deleting a refused definition leaves the composites of the kind's owner alone", async () => {
  const { informers, seen, composed } = start();
  informers.put(DEFINITIONS, definition());
  informers.put(APPS, xr("a"));
  await settle();
  composed()?.watch("uid-a", [BUCKETS]);
  const meta = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  informers.put(DEFINITIONS, definition({ plural: "xother", conditions: [], meta }));
  await settle();
  expect(informers.watched).not.toContain("xother");
  expect(informers.watched).not.toContain("other");
  informers.remove(DEFINITIONS, "xother.example.org");
  await settle();
  seen.splice(0);
  informers.put(BUCKETS, bucketOf("a"));
  await settle();
  expect(seen).toEqual(["XApp a"]);
});

test.each(["xapps", "xother"])(
  "of two definitions with one kind the earlier one has it, then the remaining one (%s is deleted)",
  async (goes) => {
    const { informers, seen, composed } = start();
    for (const plural of ["xapps", "xother"]) {
      informers.put(DEFINITIONS, definition({ plural, keys: [`+${plural}`] }));
      informers.put({ ...APPS, plural }, xr(`of-${plural}`));
      await settle();
      composed()?.watch(`uid-of-${plural}`, [BUCKETS]);
    }
    seen.splice(0);
    informers.put(BUCKETS, bucketOf("of-xapps"));
    await settle();
    expect(seen.splice(0)).toEqual(["XApp+xapps of-xapps"]);
    informers.remove(DEFINITIONS, `${goes}.example.org`);
    await settle();
    const stays = goes === "xapps" ? "xother" : "xapps";
    const again = `XApp+${stays} of-${stays}`;
    // Changes were not reported to the other definition while the earlier one had the kind.
    expect(seen.splice(0).filter((what) => what.startsWith("XApp"))).toEqual(goes === "xapps" ? [again] : []);
    informers.put(BUCKETS, { ...bucketOf(`of-${stays}`), spec: {} });
    await settle();
    expect(seen).toEqual([again]);
  },
);

test("a change of a definition's spec reconciles its instances, a change of its status does not", async () => {
  const { informers, seen } = start();
  informers.put(DEFINITIONS, definition());
  informers.put(APPS, xr("a"));
  await settle();
  seen.splice(0);
  const { started } = informers;
  informers.put(DEFINITIONS, definition({ conditions: ["Established", "Offered", "Other"] }));
  await settle();
  expect(seen.splice(0)).toEqual(["definition xapps.example.org"]);
  informers.put(DEFINITIONS, definition({ keys: ["+keys"], generation: 2 }));
  await settle();
  expect(seen.toSorted()).toEqual(["XApp+keys a", "definition xapps.example.org"]);
  expect(informers.started).toBe(started);
});

test("a change of a composed resource reconciles its XR while the XR needs the kind", async () => {
  const { informers, seen, composed } = start();
  informers.put(DEFINITIONS, definition());
  informers.put(APPS, xr("a"));
  await settle();
  composed()?.watch("uid-a", [BUCKETS]);
  seen.splice(0);
  const ownerReferences = [{ apiVersion: "example.org/v1", kind: "XApp", name: "a", uid: "uid-a", controller: true }];
  informers.put(BUCKETS, object(BUCKETS, "b", {}, { ownerReferences }));
  informers.put(BUCKETS, object(BUCKETS, "foreign"));
  await settle();
  expect(seen.splice(0)).toEqual(["XApp a"]);
  expect(informers.watched).toContain("buckets?crossplane.io/composite");
  informers.remove(APPS, "a");
  await settle();
  expect(informers.watched).not.toContain("buckets?crossplane.io/composite");
});

test("recorded kinds are watched before the first XR is reconciled", async () => {
  let watched: readonly string[] = [];
  const { informers } = start((what) => {
    if (what === "XApp a") watched = informers.watched;
  });
  informers.put(APPS, xr("a", { resourceRefs: [{ apiVersion: "aws.org/v1", kind: "Bucket", name: "b" }] }));
  informers.put(DEFINITIONS, definition());
  await settle();
  expect(watched).toContain("buckets?crossplane.io/composite");
});

test("a revision reconciles its Composition, the XRs that use it, and those without one", async () => {
  const { informers, seen } = start();
  informers.put(DEFINITIONS, definition());
  for (const name of ["one", "other"]) informers.put(APPS, xr(name, { compositionRef: { name } }));
  informers.put(APPS, xr("none"));
  await settle();
  seen.splice(0);
  const owner = {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    name: "one",
    uid: "1",
    controller: true,
  };
  const spec = { compositeTypeRef: { apiVersion: "example.org/v1", kind: "XApp" } };
  // The second time, another writer has changed the number.
  for (const revision of [1, 2]) {
    const own = { spec: { ...spec, revision } };
    informers.put(REVISIONS, object(REVISIONS, "one-1234567", own, { ownerReferences: [owner] }));
    await settle();
    expect(seen.splice(0)).toEqual(["composition one", "XApp one", "XApp none"]);
  }
  informers.put(COMPOSITIONS, object(COMPOSITIONS, "one"));
  await settle();
  seen.splice(0);
  informers.remove(REVISIONS, "one-1234567");
  await settle();
  expect(seen).toContain("composition one");
});

test("a CRD that another writer changes or deletes reconciles its definition", async () => {
  const { informers, seen } = start();
  const owner = (kind: string, uid: string): object => ({
    ownerReferences: [{ apiVersion: "apiextensions.crossplane.io/v1", kind, name: `of-${uid}`, uid, controller: true }],
  });
  const own = object(CRDS, "xapps.example.org", {}, owner(DEFINITIONS.kind, "definition"));
  const foreign = object(CRDS, "others.example.org", {}, owner("Other", "foreign"));
  for (const crd of [own, foreign]) informers.put(CRDS, crd);
  await settle();
  expect(informers.watched).toContain("customresourcedefinitions?apiextensions.crossplane.io/defined");
  expect(seen).toEqual([]);
  for (const crd of [own, foreign]) informers.put(CRDS, { ...crd, metadata: { ...crd.metadata, ownerReferences: [] } });
  await settle();
  expect(seen.splice(0)).toEqual(["definition of-definition"]);
  for (const crd of [own, foreign]) informers.put(CRDS, crd);
  for (const { metadata } of [own, foreign]) informers.remove(CRDS, metadata.name);
  await settle();
  expect(seen).toEqual(["definition of-definition"]);
});

test("a change of an XR reconciles its claim", async () => {
  const { informers, seen } = start();
  informers.put(DEFINITIONS, definition());
  await settle();
  seen.splice(0);
  informers.put(APPS, xr("a", { claimRef: { name: "c", namespace: "team" } }));
  await settle();
  expect(seen.toSorted()).toEqual(["App team/c", "XApp a"]);
});

test("a hundred XRs are reconciled while others hang", async () => {
  const hanging = Promise.withResolvers<void>();
  let first = true;
  const { informers, seen } = start((what) => {
    if (!what.startsWith("XApp bad")) return undefined;
    // The first reconcile ends, the later ones hang.
    return first ? undefined : hanging.promise;
  });
  informers.put(DEFINITIONS, definition());
  await settle();
  first = false;
  for (let index = 0; index < 8; index++) informers.put(APPS, xr(`bad-${index}`));
  for (let index = 0; index < 100; index++) informers.put(APPS, xr(`good-${index}`));
  await settle();
  expect(seen.filter((what) => what.startsWith("XApp good"))).toHaveLength(100);
  hanging.resolve();
});

test("a failed reconcile is retried, and others do not wait for it", async () => {
  let failures = 0;
  const { informers, seen } = start((what) => {
    if (what !== "XApp bad" || failures === 2) return;
    failures++;
    throw new Error("no");
  });
  informers.put(DEFINITIONS, definition());
  informers.put(APPS, xr("bad"));
  informers.put(APPS, xr("good"));
  await expect.poll(() => seen.filter((what) => what === "XApp bad").length).toBe(3);
  expect(seen.filter((what) => what === "XApp good")).toHaveLength(1);
});
