import { documentOf } from "@xfn/composition";
import { parseDefinition } from "@xfn/composition/definition";
import { claimReconciler, definitionReconciler, type ReconcilerOptions } from "@xfn/controller";
import type { JsonObject } from "@xfn/json";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { DEFINITION } from "../harness/composite-kinds.ts";
import { get, named, WIDGET, widget, world, xr } from "../harness/composite-memory.ts";
import { condition } from "../harness/conditions.ts";
import { thingDefinition } from "../harness/definitions.ts";
import { type MemoryClient, memoryClient } from "../harness/memory-client.ts";

// Causes of problems in the conditions and events of claims, XRs and definitions.

/** @param events receives each event as text */
function contextOf(client: MemoryClient, events: string[]): ReconcilerOptions {
  const unneeded = (): never => {
    throw new TypeError("not needed");
  };
  return {
    client,
    informers: { acquire: unneeded, peek: () => undefined, stop: async () => {} },
    events: {
      record: (_, { type, reason, message }) => void events.push(`${type} ${reason}: ${message}`),
      flush: async () => {},
    },
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    namespace: "xfn-system",
    pullSecretNamespaces: [],
    pollIntervalMs: 60_000,
    now: () => 0,
  };
}

function claimWorld(conditions: JsonObject[]) {
  const claim: LiveObject = {
    apiVersion: "example.org/v1",
    kind: "Thing",
    metadata: { name: "shop", namespace: "team", uid: "claim", resourceVersion: "1" },
    spec: { resourceRef: { apiVersion: "example.org/v1", kind: "XThing", name: "x" } },
  };
  const composite: LiveObject = {
    apiVersion: "example.org/v1",
    kind: "XThing",
    metadata: { name: "x", uid: "x", resourceVersion: "1" },
    spec: { claimRef: { apiVersion: "example.org/v1", kind: "Thing", name: "shop", namespace: "team" } },
    status: { conditions },
  };
  const client = memoryClient([claim, composite], { namespaced: ["Thing"] });
  const events: string[] = [];
  const reconcile = claimReconciler(contextOf(client, events), parseDefinition(documentOf(thingDefinition())));
  return {
    client,
    events,
    reconcile: () => reconcile("team/shop", new AbortController().signal),
    claim: () => get(client, "Thing", "shop"),
  };
}

const FATAL = {
  type: "Synced",
  status: "False",
  reason: "ReconcileError",
  message: "FatalResult: no network of that size",
};

test("a claim reports a fatal result and what its composite waits for, and an event once for each", async () => {
  const unready = { type: "Ready", status: "False", reason: "Creating", message: "Unready resources: bucket" };
  const w = claimWorld([FATAL, unready]);
  await w.reconcile();
  expect(condition(w.claim(), "Synced")).toMatchObject({ status: "False", reason: "CompositeNotSynced" });
  expect(condition(w.claim(), "Synced")["message"]).toContain("is not composed: FatalResult: no network of that size");
  expect(condition(w.claim(), "Ready")).toMatchObject({ status: "False", reason: "Waiting" });
  expect(condition(w.claim(), "Ready")["message"]).toContain("Unready resources: bucket");
  await w.reconcile();
  expect(w.events).toEqual([
    expect.stringMatching(/^Warning CompositeNotSynced: .*no network of that size/),
    expect.stringMatching(/^Normal Waiting: .*Unready resources: bucket/),
  ]);
});

test("a claim of a ready composite stays ready when an update of the composite fails, and reports it", async () => {
  const w = claimWorld([FATAL, { type: "Ready", status: "True", reason: "Available" }]);
  await w.reconcile();
  await w.reconcile();
  expect(condition(w.claim(), "Ready")).toMatchObject({ status: "True" });
  expect(condition(w.claim(), "Synced")).toMatchObject({ status: "False", reason: "CompositeNotSynced" });
  expect(w.events).toHaveLength(1);
});

test("a claim is synced when its composite is", async () => {
  const w = claimWorld([{ type: "Synced", status: "True", reason: "ReconcileSuccess" }]);
  await w.reconcile();
  expect(condition(w.claim(), "Synced")).toMatchObject({ status: "True", reason: "ReconcileSuccess" });
});

// A condition stores at most 4096 characters of a message.
const LONG = "x".repeat(5_000);

test("a claim whose cause is longer than a condition's message gets one event", async () => {
  const w = claimWorld([
    { ...FATAL, message: LONG },
    { type: "Ready", status: "False", reason: "Creating", message: LONG },
  ]);
  for (let count = 0; count < 3; count++) await w.reconcile();
  expect(w.events.map((text) => text.slice(0, text.indexOf(":")))).toEqual([
    "Warning CompositeNotSynced",
    "Normal Waiting",
  ]);
});

test("a definition whose problem is longer than a condition's message gets one event", async () => {
  const name = "xdatabases.example.org";
  const definition = { ...DEFINITION, metadata: { name, uid: "definition", resourceVersion: "1" } } as LiveObject;
  const client = memoryClient([definition]);
  client.beforeWrite = ({ object }) => {
    if (object.startsWith("CustomResourceDefinition/")) throw new ApiError("Invalid", LONG, { status: 422 });
  };
  const events: string[] = [];
  const reconcile = definitionReconciler(contextOf(client, events));
  for (let count = 0; count < 3; count++) await reconcile(name, new AbortController().signal);
  expect(condition(get(client, "CompositeResourceDefinition", name), "Established")).toMatchObject({
    status: "False",
    reason: "CannotApplyCRD",
  });
  expect(events).toEqual([expect.stringMatching(/^Warning CannotApplyCRD: /)]);
});

const troubled = (conditions: JsonObject[]): LiveObject => ({ ...widget("a1", "a"), status: { conditions } });
const recorded = { resourceRefs: [{ ...WIDGET, name: "a1" }] };

test("an XR reports what its unready resources report", async () => {
  const synced = { type: "Synced", status: "False", reason: "ReconcileError", message: "AccessDenied" };
  const w = world([xr(recorded), troubled([{ type: "Ready", status: "False", reason: "Creating" }, synced])]);
  w.compose(named("a", "a1"), named("b", "b"));
  await w.reconcile();
  expect(condition(get(w.client, "XDatabase", "xr"), "Ready")["message"]).toBe(
    "Widget a1: Synced is False (ReconcileError): AccessDenied; Unready resources: a, b",
  );
});

test("a failed update of a ready resource leaves the XR ready", async () => {
  const w = world([xr(recorded), troubled([{ type: "Ready", status: "True", reason: "Available" }])]);
  w.compose(named("a", "a1"));
  w.client.beforeWrite = ({ object }) => {
    if (object === "Widget/a1") throw new ApiError("Forbidden", "exceeded quota", { status: 403 });
  };
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
  const after = get(w.client, "XDatabase", "xr");
  expect(condition(after, "Ready")).toMatchObject({ status: "True" });
  expect(condition(after, "Synced")).toMatchObject({
    status: "False",
    reason: "ReconcileError",
    message: expect.stringMatching(/^Forbidden: /),
  });
});
