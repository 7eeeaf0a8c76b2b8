import type { CompositeOptions } from "@xfn/controller";
import { isObject, type JsonObject } from "@xfn/json";
import { ApiError, type Client, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { get, named, owner, referencesOf, secret, type World, widget, world, xr } from "../harness/composite-memory.ts";

// The service accounts that Compositions name, in a memory that has users with rights. The test of
// docs/tasks/multi-tenancy.md has an API server.

const A = { namespace: "team", name: "a" };
const B = { namespace: "team", name: "b" };
const userOf = ({ namespace, name }: typeof A): string => `system:serviceaccount:${namespace}:${name}`;
const CONTROLLER = "controller";
const ALL = ["get", "list", "apply", "delete"];
const account = ({ namespace, name }: typeof A): LiveObject => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { namespace, name, uid: `uid-${name}`, resourceVersion: "1" },
});

interface Users extends World {
  /** The verbs that each user has on Widgets, and the names of accounts that it may impersonate. */
  readonly may: Map<string, Set<string>>;
  /** Requests for Widgets, as `user verb name`. */
  readonly widgets: string[];
  /** The rights that reviews asked for, as `user verb resource`. */
  readonly reviews: string[];
  /** Requests for other kinds than XRs, Widgets and accounts, as `user verb kind name`. */
  readonly others: string[];
  /** The users who wrote the XR. */
  readonly xrWriters: Set<string>;
}

/** A world in which users have rights on Widgets. */
function users(
  objects: readonly LiveObject[],
  definition: JsonObject = {},
  how: Partial<CompositeOptions> = {},
): Users {
  const w = world(objects, how, definition);
  const { client } = w;
  const may = new Map([
    [CONTROLLER, new Set([...ALL, "impersonate a", "impersonate b"])],
    [userOf(A), new Set(ALL)],
    [userOf(B), new Set(ALL)],
  ]);
  const widgets: string[] = [];
  const reviews: string[] = [];
  const others: string[] = [];
  const xrWriters = new Set<string>();
  const check = (as: string | undefined, verb: string, kind: string | undefined, name: string | undefined): void => {
    const user = as ?? CONTROLLER;
    if (kind === "XDatabase" && verb !== "get") xrWriters.add(user);
    if (kind !== "Widget" && kind !== "XDatabase" && kind !== "ServiceAccount")
      others.push([user, verb, kind, name].filter((one) => one !== undefined).join(" "));
    if (kind !== "Widget") return;
    widgets.push(`${user} ${verb} ${name}`);
    if (may.get(user)?.has(verb) === true) return;
    throw new ApiError("Forbidden", `widgets "${name}" is forbidden: ${user} cannot ${verb} it`, { status: 403 });
  };
  const { get: read, list, apply, delete: remove, patch }: Client = client;
  client.list = async (kind, options) => {
    check(options?.as, "list", kind.kind, undefined);
    return await list(kind, options);
  };
  client.get = async (reference, options) => {
    check(options?.as, "get", reference.kind, reference.name);
    return await read(reference, options);
  };
  client.apply = async (object, options) => {
    check(options?.as, "apply", object.kind, object.metadata?.name);
    return await apply(object, options);
  };
  client.delete = async (reference, options) => {
    check(options?.as, "delete", reference.kind, reference.name);
    return await remove(reference, options);
  };
  client.patch = async (reference, type, body, options) => {
    check(options?.as, "patch", reference.kind, reference.name);
    return await patch(reference, type, body, options);
  };
  client.raw = async (_method, _path, options) => {
    const { body, as = CONTROLLER } = options ?? {};
    const spec = isObject(body) ? body["spec"] : undefined;
    const asked = isObject(spec) ? spec["resourceAttributes"] : undefined;
    const { verb, resource, name } = isObject(asked) ? asked : {};
    reviews.push(`${as} ${String(verb)} ${String(resource)}`);
    const right = verb === "impersonate" ? `impersonate ${String(name)}` : verb;
    const isKnown = resource === "widgets" || resource === "serviceaccounts";
    return { status: { allowed: isKnown && typeof right === "string" && may.get(as)?.has(right) === true } };
  };
  return Object.assign(w, { may, widgets, reviews, others, xrWriters });
}

const composes = (serviceAccountRef: typeof A | undefined, ...entries: string[]): JsonObject => ({
  resources: entries.map((entry) => named(entry, entry)),
  ...(serviceAccountRef && { serviceAccountRef }),
});
const statusOf = ({ client }: World): string => JSON.stringify(get(client, "XDatabase", "xr")?.["status"]);
const usersOf = ({ widgets }: Users): string[] => [...new Set(widgets.map((one) => one.split(" ")[0] ?? ""))];
const TTL_MS = 10_001;
const going = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["composite.apiextensions.crossplane.io"] };
const recorded = { resourceRefs: [{ apiVersion: "things.example.org/v1", kind: "Widget", name: "w" }] };

test("a Composition composes with the rights of its account, and the XR keeps its rights", async () => {
  const w = users([xr(), account(A)]);
  w.composeSpec(composes(A, "w", "v"));
  await w.reconcile();
  w.composeSpec(composes(A, "w"));
  await w.reconcile();
  await w.reconcile();
  expect(get(w.client, "Widget", "w")).toBeDefined();
  expect(usersOf(w)).toEqual([userOf(A)]);
  expect(w.widgets).toContain(`${userOf(A)} delete v`);
  expect([...w.xrWriters]).toEqual([CONTROLLER]);
});

test("a Composition reads with the rights of its account, and the connection secret of the XR uses those of the XR", async () => {
  const place = { namespace: "team", name: "published" };
  const composed = { ...widget("w", "w"), spec: { writeConnectionSecretToRef: { namespace: "team", name: "its" } } };
  const config: LiveObject = {
    apiVersion: "apiextensions.crossplane.io/v1beta1",
    kind: "EnvironmentConfig",
    metadata: { name: "e", uid: "e", resourceVersion: "1" },
  };
  const w = users([
    xr({ ...recorded, writeConnectionSecretToRef: place }),
    composed,
    config,
    account(A),
    secret("team", "its", [{ ...owner("uid-w"), kind: "Widget", name: "w" }]),
  ]);
  w.composeSpec({
    serviceAccountRef: A,
    environment: { environmentConfigs: [{ type: "Reference", ref: { name: "e" } }] },
    resources: [{ ...named("w", "w"), connectionDetails: [{ name: "user", fromConnectionSecretKey: "user" }] }],
  });
  await w.reconcile();
  expect(w.others.filter((request) => request.includes(" Environment"))).toEqual([
    `${userOf(A)} list EnvironmentConfig`,
  ]);
  expect(w.others).toContain(`${userOf(A)} get Secret its`);
  const published = w.others.filter((request) => request.endsWith(" published"));
  expect(published.length).toBeGreaterThan(0);
  expect(published.filter((request) => !request.startsWith(CONTROLLER))).toEqual([]);
});

test("requirements of functions are read with the rights of the account, and a refusal names it", async () => {
  const unused = (): never => {
    throw new TypeError("the function is not called");
  };
  const functions = {
    names: ["f"],
    byName: () => ({ run: unused }),
    byPackage: unused,
    byEndpoint: unused,
    closeUnused: unused,
  };
  const w = users([xr(), account(A)], {}, { functions, runner: { run: unused } });
  const required = { requirementName: "r", apiVersion: "things.example.org/v1", kind: "Widget", name: "w" };
  w.composeSpec({
    serviceAccountRef: A,
    mode: "Pipeline",
    pipeline: [{ step: "s", functionRef: { name: "f" }, requirements: { requiredResources: [required] } }],
  });
  w.may.set(userOf(A), new Set());
  await expect(w.reconcile()).rejects.toThrow("grant the service account team/a get and list of Widget");
  expect(w.widgets).toEqual([`${userOf(A)} get w`]);
});

test("a right that the account lacks is Forbidden for exactly this object", async () => {
  const w = users([xr(), account(A)]);
  w.may.set(userOf(A), new Set(["get", "apply"]));
  w.composeSpec(composes(A, "w", "v"));
  await w.reconcile();
  w.composeSpec(composes(A, "w"));
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
  expect(statusOf(w)).toContain("cannot delete Widget v");
  expect(statusOf(w)).toContain(userOf(A));
  expect(get(w.client, "Widget", "v")).toBeDefined();
  expect(referencesOf(w.client)).toEqual(expect.arrayContaining(["v", "w"]));
});

test("neither the controller's cache nor its own writes show what the account may not read", async () => {
  const w = users([xr(), account(A), account(B)]);
  w.may.set(userOf(B), new Set(["apply"]));
  w.composeSpec(composes(A, "w"));
  await w.reconcile();
  w.composeSpec(composes(B, "w"));
  await expect(w.reconcile()).rejects.toThrow(`${userOf(B)} cannot get it`);
  w.now += TTL_MS;
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
  w.may.get(userOf(B))?.add("get");
  w.now += TTL_MS;
  await w.reconcile();
  expect(statusOf(w)).toContain("ReconcileSuccess");
});

test("an XR is never settled: each reconcile checks the rights of the Composition's account", async () => {
  const w = users([xr(), account(A)]);
  w.composeSpec(composes(A, "w"));
  for (let index = 0; index < 3; index++) expect(await w.reconcile()).not.toEqual({ settled: "again" });
  w.may.set(userOf(A), new Set());
  w.now += TTL_MS;
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
});

test("an account that does not exist writes nothing, and a deleted XR waits for it", async () => {
  const w = users([xr(), widget("w", "w")]);
  w.composeSpec(composes(A, "w"));
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "ServiceAccountNotFound" }));
  expect(statusOf(w)).toContain("create it, or change serviceAccountRef of the Composition c");
  const ending = users([xr(recorded, going), widget("w", "w")]);
  ending.composeSpec(composes(A, "w"));
  await expect(ending.reconcile()).rejects.toThrow("create the service account team/a again");
  expect(ending.widgets).toEqual([]);
  ending.composeSpec(composes(B, "w"));
  ending.client.objects.set("b", account(B));
  await expect(ending.reconcile()).rejects.toThrow("service account team/b does not exist");
});

test("an XR that composed nothing is deleted without the account", async () => {
  const w = users([xr({}, going)]);
  w.composeSpec(composes(A, "w"));
  await w.reconcile();
  expect(get(w.client, "XDatabase", "xr")).toBeUndefined();
});

test("an XR is deleted with the rights of its Composition's account, and stays while it lacks them", async () => {
  const w = users([xr(recorded, going), widget("w", "w"), account(A)]);
  w.may.set(userOf(A), new Set(["get"]));
  w.composeSpec(composes(A, "w"));
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
  expect(statusOf(w)).toContain("cannot delete Widget w");
  expect(get(w.client, "XDatabase", "xr")).toBeDefined();
  w.may.set(userOf(A), new Set(ALL));
  w.now += TTL_MS;
  await w.reconcile();
  expect([...w.client.objects.values()].map(({ kind }) => kind)).toEqual(["ServiceAccount"]);
  expect(usersOf(w)).toEqual([userOf(A)]);
});

test("a Composition that returns to an earlier account uses it again", async () => {
  const w = users([xr(), account(A), account(B)]);
  for (const [one, entry] of [
    [A, "x"],
    [B, "y"],
    [A, "z"],
    [undefined, "w"],
  ] as const) {
    w.widgets.length = 0;
    w.composeSpec(composes(one, entry));
    await w.reconcile();
    const writes = w.widgets.filter((request) => !request.includes(" get "));
    const user = one === undefined ? CONTROLLER : userOf(one);
    expect(writes.length).toBeGreaterThan(0);
    expect(writes.filter((request) => !request.startsWith(`${user} `))).toEqual([]);
  }
  // The entries of earlier accounts are gone, with the rights of later ones.
  expect(["x", "y", "z", "w"].filter((name) => get(w.client, "Widget", name) !== undefined)).toEqual(["w"]);
});

test("a definition's account must be allowed to impersonate that of a Composition", async () => {
  const w = users([xr(), account(A), account(B)], { serviceAccountRef: A });
  w.composeSpec(composes(B, "w"));
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
  expect(statusOf(w)).toContain("the service account team/a may not impersonate the service account team/b");
  expect(w.widgets).toEqual([]);
  w.may.get(userOf(A))?.add("impersonate b");
  w.now += TTL_MS;
  await w.reconcile();
  expect(usersOf(w)).toEqual([userOf(B)]);
  expect([...w.xrWriters].toSorted()).toEqual([CONTROLLER, userOf(A)].toSorted());
  w.may.get(userOf(A))?.delete("impersonate b");
  w.now += TTL_MS;
  await expect(w.reconcile()).rejects.toThrow("may not impersonate");
});

test("a Composition may name its definition's account", async () => {
  const w = users([xr(), account(A)], { serviceAccountRef: A });
  w.composeSpec(composes(A, "w"));
  await w.reconcile();
  expect(usersOf(w)).toEqual([userOf(A)]);
});

test("the controller must be allowed to impersonate the account of a Composition", async () => {
  const w = users([xr(), account(A)]);
  w.may.get(CONTROLLER)?.delete("impersonate a");
  w.composeSpec(composes(A, "w"));
  await expect(w.reconcile()).rejects.toThrow("the controller may not impersonate the service account team/a");
  expect(w.widgets).toEqual([]);
});

test("an XR whose Composition is gone is deleted with the XR's rights, or says which rights are missing", async () => {
  const gone = { ...recorded, compositionRef: { name: "gone" } };
  for (const definition of [undefined, A]) {
    const w = users([xr(gone, going), widget("w", "w"), account(A)], definition && { serviceAccountRef: A });
    const user = definition === undefined ? CONTROLLER : userOf(A);
    w.composeSpec(composes(B, "w"));
    w.may.get(user)?.delete("delete");
    await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
    expect(statusOf(w)).toContain("there is no Composition gone; create it");
    w.may.get(user)?.add("delete");
    w.now += TTL_MS;
    await w.reconcile();
    expect(get(w.client, "Widget", "w")).toBeUndefined();
    expect(get(w.client, "XDatabase", "xr")).toBeUndefined();
  }
});

test("a refusal names all rights that the accounts lack, before the one that was refused", async () => {
  const base = { spec: { writeConnectionSecretToRef: { namespace: "secrets", name: "its" } } };
  const w = users([xr({ writeConnectionSecretToRef: { namespace: "team", name: "own" } }), account(A), account(B)], {
    serviceAccountRef: B,
  });
  w.may.set(userOf(B), new Set(["get", "impersonate a"]));
  w.may.set(userOf(A), new Set(["get"]));
  const [template] = [named("w", "w")];
  w.composeSpec({
    serviceAccountRef: A,
    resources: [{ ...template, base: { ...(template["base"] as JsonObject), ...base } }],
  });
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
  const [event = ""] = w.events;
  expect(event).toContain(
    "the service account team/a lacks create, patch, delete of widgets.things.example.org, get of secrets in secrets",
  );
  expect(event).toContain("get, create, patch, delete of secrets in team");
  expect(event.indexOf("lacks")).toBeLessThan(event.indexOf("cannot apply"));
  // A retry within ten seconds reviews none again. Rights to get are also reviewed for the caches.
  const { length } = w.reviews;
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
  expect(w.reviews.slice(length).filter((one) => !one.includes(" get "))).toEqual([]);
  // Nothing is missing once all are granted.
  for (const user of [A, B]) w.may.set(userOf(user), new Set([...ALL, "impersonate a"]));
  w.events.length = 0;
  await w.reconcile();
  expect(w.events.join()).not.toContain("lacks");
});
