import { ApiError, type ApiErrorCode, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { APPS, BUCKETS, CLAIMS, definition, object, settle, start, xr } from "../../testing/engine-stage.ts";
import { fakeInformers } from "../../testing/fake-informers.ts";
import {
  CLUSTER_ROLES,
  COMPOSITIONS,
  CRDS,
  DEFINITIONS,
  INFRASTRUCTURE_DEFINITIONS,
  REVISIONS,
} from "../objects/kinds.ts";

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

test("a change of a composed resource reconciles its XR while the XR needs the kind", async () => {
  const { informers, seen, composed, engine } = start();
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
  // A lost watch reports no changes any more.
  informers.fail(BUCKETS, new ApiError("Forbidden", "may not watch buckets"), 10 * 60_000);
  engine.watchFailed(BUCKETS);
  await settle();
  expect(seen.splice(0)).toEqual(["XApp a"]);
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
  // Before the second one, another writer changes the number.
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
    // The first reconcile ends; the later ones hang.
    return first ? undefined : hanging.promise;
  });
  informers.put(DEFINITIONS, definition());
  await settle();
  first = false;
  for (let index = 0; index < 8; index++) informers.put(APPS, xr(`bad-${index}`));
  for (let index = 0; index < 100; index++) informers.put(APPS, xr(`good-${index}`));
  await expect.poll(() => seen.filter((what) => what.startsWith("XApp good"))).toHaveLength(100);
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

test("a kind that cannot be listed reconciles its definition once, which sees the problem until it is gone", async () => {
  const { informers, seen, problems, engine } = start();
  informers.put(DEFINITIONS, definition());
  await settle();
  expect(problems()).toEqual({ composites: undefined, claims: undefined });
  seen.splice(0);
  // An unreachable server recovers without a change of the definition.
  informers.fail(APPS, new ApiError("Unreachable", "connection refused"));
  engine.watchFailed(APPS);
  await settle();
  expect(seen.splice(0)).toEqual([]);
  informers.fail(APPS, new ApiError("Forbidden", "may not list xapps"));
  engine.watchFailed(APPS);
  engine.watchFailed(BUCKETS);
  await settle();
  expect(seen.splice(0)).toEqual(["definition xapps.example.org"]);
  expect(problems()).toEqual({ composites: "may not list xapps", claims: undefined });
  informers.put(DEFINITIONS, definition({ conditions: ["Offered"] }));
  await settle();
  seen.splice(0);
  engine.watchFailed(APPS);
  await settle();
  expect(seen).toEqual([]);
  informers.fail(APPS, undefined);
  expect(problems()).toEqual({ composites: undefined, claims: undefined });
});

test("an error of the server changes no condition unless it lasts", async () => {
  const { informers, seen, problems, engine } = start();
  informers.put(DEFINITIONS, definition());
  await settle();
  seen.splice(0);
  const error = new ApiError("ServerError", "502 Bad Gateway", { status: 502 });
  informers.fail(APPS, error);
  engine.watchFailed(APPS);
  await settle();
  expect(seen).toEqual([]);
  expect(problems()).toEqual({ composites: undefined, claims: undefined });
  informers.fail(APPS, error, 30_000);
  engine.watchFailed(APPS);
  await settle();
  expect(seen).toEqual(["definition xapps.example.org"]);
  expect(problems()).toEqual({ composites: "502 Bad Gateway", claims: undefined });
});

test.each([CRDS, CLUSTER_ROLES])(
  "a $kind that another writer changes or deletes reconciles its definition",
  async (kind) => {
    const { informers, seen } = start();
    const owner = (ownerKind: string, uid: string): object => ({
      ownerReferences: [
        { apiVersion: "apiextensions.crossplane.io/v1", kind: ownerKind, name: `of-${uid}`, uid, controller: true },
      ],
    });
    const own = object(kind, "xapps.example.org", {}, owner(DEFINITIONS.kind, "definition"));
    const foreign = object(kind, "others.example.org", {}, owner("Other", "foreign"));
    for (const one of [own, foreign]) informers.put(kind, one);
    await settle();
    expect(informers.watched).toContain(`${kind.plural}?apiextensions.crossplane.io/defined`);
    expect(seen).toEqual([]);
    for (const one of [own, foreign])
      informers.put(kind, { ...one, metadata: { ...one.metadata, ownerReferences: [] } });
    await settle();
    expect(seen.splice(0)).toEqual(["definition of-definition"]);
    for (const one of [own, foreign]) informers.put(kind, one);
    for (const { metadata } of [own, foreign]) informers.remove(kind, metadata.name);
    await settle();
    expect(seen).toEqual(["definition of-definition"]);
  },
);

test("an XR that another writer changed first is reconciled again without a warning, any other failure with one", async () => {
  const failures: Record<string, (ApiErrorCode | undefined)[]> = {
    "XApp a": ["Conflict", undefined],
    "XApp b": ["Conflict", "Conflict", undefined],
  };
  const { informers, warnings } = start((what) => {
    const code = failures[what]?.shift();
    if (code !== undefined) throw new ApiError(code, "no");
  });
  informers.put(DEFINITIONS, definition());
  informers.put(APPS, xr("a"));
  await expect.poll(() => failures["XApp a"]).toEqual([]);
  expect(warnings).toEqual([]);
  informers.put(APPS, xr("b"));
  await expect.poll(() => failures["XApp b"]).toEqual([]);
  expect(warnings).toEqual(["reconcile failed"]);
});

test("a contract that comes, changes or goes reconciles Compositions, and a change of its definition's status does not", async () => {
  const { informers, seen } = start(undefined, fakeInformers(), { resourceComposition: true });
  const contract = (generation: number, status: object): LiveObject =>
    object(INFRASTRUCTURE_DEFINITIONS, "dbs.example.org", { status }, { generation });
  informers.put(COMPOSITIONS, object(COMPOSITIONS, "c"));
  await settle();
  const reconciled = async (change: () => void): Promise<boolean> => {
    seen.splice(0);
    change();
    await settle();
    return seen.includes("composition c");
  };
  expect(await reconciled(() => informers.put(INFRASTRUCTURE_DEFINITIONS, contract(1, {})))).toBe(true);
  expect(await reconciled(() => informers.put(INFRASTRUCTURE_DEFINITIONS, contract(1, { conditions: [] })))).toBe(
    false,
  );
  expect(await reconciled(() => informers.put(INFRASTRUCTURE_DEFINITIONS, contract(2, {})))).toBe(true);
  expect(await reconciled(() => informers.remove(INFRASTRUCTURE_DEFINITIONS, "dbs.example.org"))).toBe(true);
});
