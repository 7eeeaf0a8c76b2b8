import { type RolloutOptions, rolloutReconciler } from "@xfn/controller";
import { parseFunctionIO, printFunctionIO } from "@xfn/functionio";
import { isObject, type JsonObject } from "@xfn/json";
import { ApiError, type Cache, type LiveObject, type Outcome } from "@xfn/kubernetes";
import { inProcessRunner } from "@xfn/pipeline/in-process";
import { expect, test } from "vitest";
import { DEFINITION } from "../harness/composite-kinds.ts";
import { WIDGET } from "../harness/composite-memory.ts";
import { type MemoryClient, memoryClient } from "../harness/memory-client.ts";

// The phases of a rollout on an API server in memory: shadow, canary, and the end.

const API_VERSION = "apiextensions.crossplane.io/v1";
const START = Date.parse("2026-01-01T00:00:00Z");
const MINUTE_MS = 60_000;
const ROLLOUT: JsonObject = {
  shadow: { composites: 2 },
  canary: { matchLabels: { ring: "canary" } },
  analysis: { duration: "1m" },
};
const TEMPLATES: JsonObject = {
  resources: [{ name: "a", base: { ...WIDGET, spec: { size: 2 } }, readinessChecks: [{ type: "None" }] }],
};

const live = (kind: string, name: string, rest: JsonObject, metadata: JsonObject = {}): LiveObject => ({
  apiVersion: API_VERSION,
  kind,
  metadata: { name, uid: name, resourceVersion: "1", ...metadata },
  ...rest,
});

function revision(number: number, content: JsonObject): LiveObject {
  const compositeTypeRef = { apiVersion: "example.org/v1", kind: "XDatabase" };
  const owner = { apiVersion: API_VERSION, kind: "Composition", name: "c", uid: "c", controller: true };
  return live(
    "CompositionRevision",
    `c-${number}`,
    { spec: { compositeTypeRef, ...content, rollout: ROLLOUT, revision: number } },
    {
      ownerReferences: [owner],
      annotations: number > 1 ? { "apiextensions.crossplane.io/rollout": "true" } : {},
    },
  );
}

const conditions = (...statuses: readonly [type: string, status: string, reason: string, message?: string][]) =>
  statuses.map(([type, status, reason, message]) => ({
    type,
    status,
    reason,
    ...(message !== undefined && { message }),
    observedGeneration: 1,
    lastTransitionTime: new Date(START - MINUTE_MS).toISOString(),
  }));
const HEALTHY = conditions(["Synced", "True", "ReconcileSuccess"], ["Ready", "True", "Available"]);

/** A healthy XR that uses the first revision. */
const xr = (name: string, labels: Record<string, string> = {}): LiveObject => ({
  ...live(
    "XDatabase",
    name,
    {
      spec: { compositionRef: { name: "c" }, compositionRevisionRef: { name: "c-1" } },
      status: { conditions: HEALTHY },
    },
    { labels, generation: 1, creationTimestamp: new Date(START - MINUTE_MS).toISOString() },
  ),
  apiVersion: "example.org/v1",
});

interface Rollouts {
  readonly client: MemoryClient;
  readonly events: string[];
  now: number;
  reconcile(): Promise<Outcome | undefined>;
  /** `status.rollout` of the new revision. */
  status(): JsonObject;
}

function rollouts(
  xrs: readonly LiveObject[],
  content: JsonObject = TEMPLATES,
  how: Partial<RolloutOptions> = {},
): Rollouts {
  const composition = live("Composition", "c", { spec: {} });
  const definition = DEFINITION as unknown as LiveObject;
  const client = memoryClient([composition, definition, revision(1, TEMPLATES), revision(2, content), ...xrs]);
  const events: string[] = [];
  const cacheOf = (kind: string): Cache => {
    const list = (): LiveObject[] => [...client.objects.values()].filter((one) => one.kind === kind);
    return { get: (name) => list().find(({ metadata }) => metadata.name === name), list, byIndex: () => [] };
  };
  const context: RolloutOptions = {
    client,
    informers: {
      acquire: () => {
        throw new TypeError("not needed");
      },
      peek: ({ kind }) => cacheOf(kind),
      stop: async () => {},
    },
    events: { record: (_, { message }) => void events.push(message), flush: async () => {} },
    namespace: "xfn-system",
    pullSecretNamespaces: [],
    now: () => made.now,
    ...how,
  };
  const reconcile = rolloutReconciler(context);
  const made: Rollouts = {
    client,
    events,
    now: START,
    reconcile: () => reconcile("c", new AbortController().signal),
    status: () => {
      const status = cacheOf("CompositionRevision").get("c-2")?.["status"];
      const rollout = isObject(status) ? status["rollout"] : undefined;
      return isObject(rollout) ? rollout : {};
    },
  };
  return made;
}

async function set({ client }: Rollouts, name: string, spec: JsonObject, list: readonly JsonObject[]): Promise<void> {
  const body = { spec, status: { conditions: [...list] } };
  await client.patch({ apiVersion: "example.org/v1", kind: "XDatabase", name }, "merge", body);
}

const usesNew = { compositionRevisionRef: { name: "c-2" } };

test("a rollout composes in shadow, watches its canary, and is complete once that stayed ready", async () => {
  const r = rollouts([xr("first", { ring: "canary" }), xr("other"), xr("third")]);
  expect(await r.reconcile()).toEqual({ requeueAfterMs: 1_000 });
  expect(r.status()).toMatchObject({ phase: "Shadow", from: "c-1", startedAt: "2026-01-01T00:00:00Z" });

  await r.reconcile();
  const { shadow, ...canary } = r.status();
  expect(canary).toMatchObject({ phase: "Canary", canarySince: "2026-01-01T00:00:00Z" });
  // The XRs of the canary are the first, and there are as many as `shadow.composites` says.
  expect(shadow).toEqual([
    {
      name: "first",
      differences: [{ resource: "a", path: "", desired: expect.stringContaining("Widget") as unknown }],
    },
    { name: expect.stringMatching(/other|third/) as unknown, differences: [expect.anything()] },
  ]);
  expect(r.client.writes.filter(({ object }) => object.startsWith("Widget/"))).toEqual([]);

  await set(r, "first", usesNew, HEALTHY);
  expect(await r.reconcile()).toEqual({ requeueAfterMs: 1_000 });
  expect(r.status()).toMatchObject({ phase: "Canary", canary: { composites: ["first"] } });
  r.now += MINUTE_MS;
  expect(await r.reconcile()).toBeUndefined();
  expect(r.status()).toMatchObject({ phase: "Complete", message: "1 composite resource is ready" });
  expect(r.events.map((text) => text.split(": ")[1])).toEqual(["Shadow", "Canary", "Complete"]);
});

test("the error of an XR that failed in shadow is in the status, and rolls the revision back", async () => {
  const r = rollouts([xr("first", { ring: "canary" }), xr("other")]);
  r.client.beforeWrite = ({ object, body }) => {
    const { ownerReferences } = (body?.["metadata"] ?? {}) as JsonObject;
    if (object.startsWith("Widget/") && JSON.stringify(ownerReferences).includes('"first"'))
      throw new ApiError("Invalid", "spec.size: must be 1", { status: 422 });
  };
  await r.reconcile();
  expect(await r.reconcile()).toBeUndefined();
  const error = expect.stringMatching(/^InvalidResource: .*spec\.size: must be 1/) as unknown;
  expect(r.status()).toMatchObject({
    phase: "RolledBack",
    message: expect.stringMatching(/^failed in shadow: first: InvalidResource: /) as unknown,
    shadow: [
      { name: "first", error },
      { name: "other", differences: [expect.anything()] },
    ],
  });
  expect(r.events.at(-1)).toContain("RolledBack: failed in shadow: first");
  // A rolled back revision stays so.
  r.client.writes.length = 0;
  expect(await r.reconcile()).toBeUndefined();
  expect(r.client.writes).toEqual([]);
});

test("an error of a shadow run hides the credential that a server quotes", async () => {
  const token = "s3cr3t-t0ken-of-a-step";
  const secret: LiveObject = {
    ...live("Secret", "token", { data: { token: Buffer.from(token).toString("base64") } }, { namespace: "team" }),
    apiVersion: "v1",
  };
  const credentials = { secretRef: { namespace: "team", name: "token" } };
  const content: JsonObject = {
    mode: "Pipeline",
    pipeline: [{ step: "call", webhook: { url: "https://functions.example.org", credentials } }],
  };
  const r = rollouts([xr("first", { ring: "canary" }), secret], content, {
    runner: inProcessRunner({}),
    credentialsSecretNamespaces: ["team"],
    webhooks: {
      maxOutputBytes: 1_000_000,
      call: async (_, input, options) => {
        const resource = { ...WIDGET, spec: { copy: options.token ?? "" } };
        const desired = { resources: [{ name: "a", resource }] };
        return new TextEncoder().encode(printFunctionIO({ ...parseFunctionIO(input), desired }));
      },
    },
  });
  r.client.beforeWrite = ({ object, body }) => {
    if (!object.startsWith("Widget/")) return;
    throw new ApiError("Invalid", `Invalid value: ${JSON.stringify(body?.["spec"])}`, { status: 422 });
  };
  for (let count = 0; count < 2; count++) await r.reconcile();
  expect(r.status()).toMatchObject({
    phase: "RolledBack",
    shadow: [{ name: "first", error: expect.stringContaining("(hidden)") as unknown }],
  });
  expect(JSON.stringify([r.status(), r.events])).not.toContain(token);
});

test("a fatal result in the canary rolls back at once, with its cause and the canary's names", async () => {
  const r = rollouts([xr("first", { ring: "canary" }), xr("other")]);
  for (let count = 0; count < 2; count++) await r.reconcile();
  const fatal = conditions(
    ["Synced", "False", "ReconcileError", "FatalResult: no such size"],
    ["Ready", "True", "Available"],
  );
  await set(
    r,
    "first",
    usesNew,
    fatal.map((one) => ({ ...one, lastTransitionTime: new Date(START).toISOString() })),
  );
  expect(await r.reconcile()).toBeUndefined();
  expect(r.status()).toMatchObject({
    phase: "RolledBack",
    message: "failed in the canary: first: Synced is not True: ReconcileError: FatalResult: no such size",
    canary: { composites: ["first"] },
  });
});

test("a canary that is unready at its end rolls back, and not before", async () => {
  const r = rollouts([xr("first", { ring: "canary" }), xr("other")]);
  for (let count = 0; count < 2; count++) await r.reconcile();
  const unready = conditions(["Synced", "True", "ReconcileSuccess"], ["Ready", "False", "Creating"]);
  await set(
    r,
    "first",
    usesNew,
    unready.map((one) => ({ ...one, lastTransitionTime: new Date(START).toISOString() })),
  );
  await r.reconcile();
  expect(r.status()).toMatchObject({ phase: "Canary" });
  r.now += MINUTE_MS;
  await r.reconcile();
  expect(r.status()).toMatchObject({
    phase: "RolledBack",
    message: expect.stringContaining("Ready is not True") as unknown,
  });
});
