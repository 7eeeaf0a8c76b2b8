import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import {
  get,
  named,
  owner,
  referencesOf,
  secret,
  unnamed,
  WIDGET,
  type World,
  widget,
  world,
  xr,
} from "../harness/composite-memory.ts";

// Names, objects and secrets that a reconcile must refuse, and what continues nevertheless.

/** Like a real client, refuses invalid names before it sends a request. */
function refuseNames({ client }: World): void {
  const { get: read } = client;
  client.get = async (reference) => {
    if (/[/%]/.test(`${reference.namespace ?? ""}${reference.name}`)) throw new ApiError("Invalid", "no such URL");
    return read(reference);
  };
}
const going = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["composite.apiextensions.crossplane.io"] };

test("an entry with an invalid name is reported and not recorded, and composed when it is fixed", async () => {
  const w = world([xr()]);
  const { client } = w;
  refuseNames(w);
  w.compose(named("a", "x/y"), named("b", "b"));
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "InvalidResource" }));
  expect(referencesOf(client)).toEqual(["b"]);
  expect(get(client, "Widget", "b")).toBeDefined();
  const reported = JSON.stringify(get(client, "XDatabase", "xr")?.["status"]);
  for (const part of ["composed resource", "metadata.name", "x/y"]) expect(reported).toContain(part);
  w.compose(named("a", "x-y"), named("b", "b"));
  await w.reconcile();
  expect(referencesOf(client)).toEqual(["b", "x-y"]);
});

test("a reference with an invalid name blocks neither the templates nor the deletion of an XR", async () => {
  const resourceRefs = [...["x/y", "..", "%2e"].map((name) => ({ ...WIDGET, name })), { ...WIDGET, name: "b" }];
  const spec = { resourceRefs, writeConnectionSecretToRef: { name: "x/y", namespace: "team" } };
  const living = world([xr(spec), widget("b", "b")]);
  refuseNames(living);
  living.compose(named("b", "b"));
  await living.reconcile();
  expect(referencesOf(living.client)).toEqual(["b"]);
  const ending = world([xr(spec, going), widget("b", "b")]);
  refuseNames(ending);
  await ending.reconcile();
  expect([...ending.client.objects.keys()]).toEqual([]);
});

test("an object recorded without its namespace, or with a superfluous one, is deleted with its XR", async () => {
  const map: LiveObject = {
    ...widget("m", "m", { namespace: "team" }),
    apiVersion: "v1",
    kind: "ConfigMap",
  };
  const references = [
    { apiVersion: "v1", kind: "ConfigMap", name: "m" },
    { ...WIDGET, name: "b", namespace: "team" },
  ];
  const { client, seen, ...w } = world([xr({ resourceRefs: references }, going), widget("b", "b"), map]);
  seen.composed = [];
  await w.reconcile();
  expect([...client.objects.keys()]).toEqual([]);
});

test("a resource that cannot be deleted blocks neither the other deletions nor the connection secret's", async () => {
  const place = { name: "details", namespace: "team" };
  const { client, ...w } = world([
    xr(
      { resourceRefs: ["a", "b", "c"].map((name) => ({ ...WIDGET, name })), writeConnectionSecretToRef: place },
      going,
    ),
    ...["a", "b", "c"].map((name) => widget(name, name)),
    secret("team", "details", [owner()]),
  ]);
  client.beforeWrite = ({ verb, object }) => {
    if (verb === "delete" && object !== "Widget/c" && object.startsWith("Widget/"))
      throw new ApiError("Forbidden", `${object} may not go`, { status: 403 });
  };
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
  expect([...client.objects.values()].map(({ metadata }) => metadata.name)).toEqual(["xr", "a", "b"]);
  const reported = JSON.stringify(get(client, "XDatabase", "xr")?.["status"]);
  for (const name of ["a", "b"]) expect(reported).toContain(`Widget/${name} may not go`);
  client.beforeWrite = () => undefined;
  await w.reconcile();
  expect([...client.objects.keys()]).toEqual([]);
});

test("a resource that cannot be read does not block the other deletions", async () => {
  const resourceRefs = ["a", "b"].map((name) => ({ ...WIDGET, name }));
  const { client, seen, ...w } = world([xr({ resourceRefs }, going), widget("a", "a"), widget("b", "b")]);
  seen.composed = [];
  const { get: read } = client;
  client.get = async (reference) => {
    if (reference.name === "a") throw new ApiError("Forbidden", "a may not be read", { status: 403 });
    return read(reference);
  };
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
  expect([...client.objects.values()].map(({ metadata }) => metadata.name)).toEqual(["xr", "a"]);
});

test("a concurrent write of the connection secret is retried without an event", async () => {
  const { client, ...w } = world([
    xr({ writeConnectionSecretToRef: { name: "details", namespace: "team" } }),
    secret("team", "details", [owner()]),
  ]);
  w.compose(unnamed("a"));
  client.beforeWrite = ({ object }) => {
    if (object === "Secret/team/details") throw new ApiError("Conflict", "changed", { status: 409 });
  };
  const outcome = await w.reconcile();
  expect(outcome?.requeueAfterMs).toBeLessThan(1000);
  expect(w.events).toEqual([]);
  expect(get(client, "XDatabase", "xr")?.["status"]).toBeUndefined();
});

test.each([
  ["of another", { namespace: "team", name: "theirs" }, "other", undefined],
  ["of the composed resource", { namespace: "team", name: "theirs" }, "uid-a", { user: "YWRtaW4=" }],
  // Never reads the Secret that the first two parts name.
  ["with a name that no Secret has", { namespace: "team", name: "theirs/x" }, "uid-a", undefined],
])("a connection secret %s", async (_, reference, controller, published) => {
  const resourceRefs = [{ ...WIDGET, name: "a" }];
  const composed = { ...widget("a", "a"), spec: { writeConnectionSecretToRef: reference } };
  const { client, events, ...w } = world([
    xr({ resourceRefs, writeConnectionSecretToRef: { name: "details", namespace: "team" } }),
    composed,
    secret("team", "theirs", [{ ...owner(controller), kind: "Widget", name: "a" }]),
  ]);
  const connectionDetails = [{ name: "user", type: "FromConnectionSecretKey", fromConnectionSecretKey: "user" }];
  w.compose({ ...named("a", "a"), connectionDetails });
  await w.reconcile();
  expect(get(client, "Secret", "details")?.["data"]).toEqual(published);
  expect(events.some((message) => message.includes(`${reference.namespace}/${reference.name}`))).toBe(!published);
});

test("a connection secret with an invalid name is refused with the field that names it", async () => {
  const { client, ...w } = world([
    xr({
      resourceRefs: [{ ...WIDGET, name: "a" }],
      writeConnectionSecretToRef: { name: "x/y", namespace: "team" },
    }),
    { ...widget("a", "a"), spec: { writeConnectionSecretToRef: { namespace: "team", name: "its" } } },
    secret("team", "its", [{ ...owner("uid-a"), kind: "Widget", name: "a" }]),
  ]);
  refuseNames({ client, ...w });
  const connectionDetails = [{ name: "user", type: "FromConnectionSecretKey", fromConnectionSecretKey: "user" }];
  w.compose({ ...named("a", "a"), connectionDetails });
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "InvalidResource" }));
  expect(JSON.stringify(get(client, "XDatabase", "xr")?.["status"])).toContain("spec.writeConnectionSecretToRef");
});

test("an object with a generated name that got another controller is reported as not controllable", async () => {
  const first = world([xr()]);
  first.compose(unnamed("a"));
  await first.reconcile();
  const made =
    first.client.writes.find(({ object }) => object.startsWith("Widget/"))?.object.slice("Widget/".length) ?? "";
  const { client, ...w } = world([xr(), widget(made, "a", { ownerReferences: [owner("other")] })]);
  w.compose(unnamed("a"));
  client.beforeWrite = ({ object }) => {
    // As a real server refuses two controllers.
    if (object.startsWith("Widget/"))
      throw new ApiError("Invalid", "Only one reference can have Controller set to true", { status: 422 });
  };
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "NotControllable" }));
});

test("an XR with the policy Manual records its revision before the first run, which may fail", async () => {
  const spec = { compositionUpdatePolicy: "Manual", resourceRefs: [{ ...WIDGET, name: "a1" }] };
  const { client, ...w } = world([xr(spec), widget("a1", "a")]);
  w.compose({
    ...unnamed("a"),
    patches: [{ type: "ToCompositeFieldPath", fromFieldPath: "metadata.name", toFieldPath: "metadata.name" }],
  });
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "TemplatesFailed" }));
  expect(get(client, "XDatabase", "xr")?.["spec"]).toEqual({
    ...spec,
    compositionRef: { name: "c" },
    compositionRevisionRef: { name: "c-1" },
  });
  client.writes.length = 0;
  await expect(w.reconcile()).rejects.toThrow();
  expect(client.writes).toEqual([]);
});

test("a Composition that composes itself is refused at the fourth ancestor that uses it", async () => {
  const chain = (length: number, composition: string): LiveObject[] =>
    Array.from({ length }, (_, index) => ({
      ...xr({ compositionRef: { name: composition } }),
      metadata: {
        name: `ancestor-${index}`,
        uid: `ancestor-${index}`,
        resourceVersion: "1",
        ...(index > 0 && { ownerReferences: [{ ...owner(`ancestor-${index - 1}`), name: `ancestor-${index - 1}` }] }),
      },
    }));
  const nested = (ancestors: LiveObject[]): LiveObject[] => {
    const { name, uid } = ancestors.at(-1)?.metadata ?? { name: "", uid: "" };
    return [xr({}, { ownerReferences: [{ ...owner(uid), name }] }), ...ancestors];
  };
  const outcome = async (objects: LiveObject[]): Promise<string> => {
    const w = world(objects);
    w.compose(unnamed("a"));
    const error: unknown = await w.reconcile().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    return error instanceof Error && "code" in error ? String(error.code) : "composed";
  };
  expect(await outcome(nested(chain(3, "c")))).toBe("composed");
  expect(await outcome(nested(chain(4, "c")))).toBe("Recursive");
  expect(await outcome(nested(chain(20, "other")))).toBe("composed");
});

test("a namespace that does not exist is named as the cause, for the connection secret and for a resource", async () => {
  const { client, ...w } = world([xr({ writeConnectionSecretToRef: { name: "details", namespace: "gone" } })]);
  client.beforeWrite = ({ object }) => {
    if (object.includes("gone")) throw new ApiError("NotFound", 'namespaces "gone" not found', { status: 404 });
  };
  w.compose({ ...unnamed("a"), readinessChecks: [{ type: "None" }] });
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "InvalidResource" }));
  expect(JSON.stringify(get(client, "XDatabase", "xr")?.["status"])).toContain("no namespace gone");
});
