import { operationReconcilers } from "@xfn/controller";
import type { FunctionCaller, FunctionRequest, FunctionResponse } from "@xfn/function-grpc";
import type { JsonObject } from "@xfn/json";
import type { Informers, LiveObject, Reconcile } from "@xfn/kubernetes";
import { type MemoryClient, memoryClient } from "./memory-client.ts";

/** The answer of a test function. Omitted fields are empty; desired state is passed on. */
export type OperationAnswer = Partial<Omit<FunctionResponse, "desired">> & {
  readonly desired?: Readonly<Record<string, JsonObject>>;
};

/** Operations with functions and an API server in memory. */
export interface OperationWorld {
  readonly client: MemoryClient;
  readonly events: string[];
  readonly requests: FunctionRequest[];
  /** Answers calls of all functions. */
  answer: (request: FunctionRequest) => OperationAnswer;
  /** The time of the controller, in milliseconds. */
  time: number;
  readonly reconcilers: Omit<ReturnType<typeof operationReconcilers>, "watchOperation"> & {
    readonly watchOperation: Reconcile;
  };
  /** The objects that WatchOperations watch, and their changes. */
  readonly watched: { problem: string | undefined; count: number; changes: WatchedChange[]; ends: number };
  object(kind: string, name: string): LiveObject | undefined;
  status(kind: string, name: string): JsonObject;
  /** A condition as `Status/Reason: message`. */
  condition(kind: string, name: string, type: string): string;
}

export function operationWorld(
  objects: readonly LiveObject[],
  limits: Partial<Parameters<typeof operationReconcilers>[0]> = {},
): OperationWorld {
  const client = memoryClient(objects);
  const events: string[] = [];
  const requests: FunctionRequest[] = [];
  const object = (kind: string, name: string): LiveObject | undefined =>
    [...client.objects.values()].find((one) => one.kind === kind && one.metadata.name === name);
  const informers: Informers = {
    acquire: () => {
      throw new TypeError("not needed");
    },
    peek: ({ kind }) => ({
      get: (name) => object(kind, name),
      list: () => [...client.objects.values()].filter((one) => one.kind === kind),
      byIndex: () => [],
    }),
    stop: async () => {},
  };
  const run = async (request: FunctionRequest): ReturnType<FunctionCaller["run"]> => {
    requests.push(request);
    const { desired = {}, ...more } = world.answer(request);
    const resources = new Map([
      ...request.desired.resources,
      ...Object.entries(desired).map(([name, resource]) => [name, { resource }] as const),
    ]);
    const requirements = { extraResources: new Map(), resources: new Map(), schemas: new Map() };
    const response = { results: [], conditions: [], context: request.context, requirements, ...more };
    return { response: { ...response, desired: { resources } }, rounded: [], requestBytes: 0, responseBytes: 0 };
  };
  const caller: FunctionCaller = { version: undefined, run };
  const directory = {
    names: ["function-a"],
    byName: (name: string) => (name === "function-a" ? caller : undefined),
    byPackage: () => caller,
    byEndpoint: () => caller,
    closeUnused: () => undefined,
  };
  const watched: OperationWorld["watched"] = { problem: undefined, count: 0, changes: [], ends: 0 };
  const { watchOperation, ...reconcilers } = operationReconcilers({
    client,
    informers,
    functions: directory,
    namespace: "xfn-system",
    pullSecretNamespaces: [],
    events: {
      record: (_, { type, reason, message }) => void events.push(`${type} ${reason}: ${message}`),
      flush: async () => {},
    },
    now: () => world.time,
    ...limits,
  });
  const watch = {
    get problem() {
      return watched.problem;
    },
    get count() {
      return watched.count;
    },
    changes: () => [...watched.changes],
    handled: (change: WatchedChange) => {
      watched.changes = watched.changes.filter((one) => one !== change);
    },
  };
  const world: OperationWorld = {
    watched,
    client,
    events,
    requests,
    answer: () => ({}),
    time: Date.parse("2026-01-01T00:00:00Z"),
    reconcilers: {
      ...reconcilers,
      watchOperation: watchOperation({ watch: () => watch, forget: () => void watched.ends++ }),
    },
    object,
    status: (kind, name) => (object(kind, name)?.["status"] ?? {}) as JsonObject,
    condition(kind, name, type) {
      const conditions = (world.status(kind, name)["conditions"] ?? []) as JsonObject[];
      const found = conditions.find((one) => one["type"] === type);
      if (found === undefined) return "";
      const message = found["message"] === undefined ? "" : `: ${String(found["message"])}`;
      return `${String(found["status"])}/${String(found["reason"])}${message}`;
    },
  };
  return world;
}

type WatchedChange = ReturnType<ReturnType<OperationWatches["watch"]>["changes"]>[number];
type OperationWatches = Parameters<ReturnType<typeof operationReconcilers>["watchOperation"]>[0];

/** An Operation whose steps call function-a. */
export function operation(name: string, spec: JsonObject = {}, more: JsonObject = {}): LiveObject {
  return {
    apiVersion: "ops.crossplane.io/v1alpha1",
    kind: "Operation",
    metadata: { name, uid: `uid-${name}`, resourceVersion: "1", generation: 1 },
    spec: { mode: "Pipeline", pipeline: [{ step: "one", functionRef: { name: "function-a" } }], ...spec },
    ...more,
  } as LiveObject;
}

/** Reconciles an object once. @returns the message of the failure, or the outcome */
export async function reconciled(reconcile: Reconcile, name: string): Promise<unknown> {
  return await reconcile(name, new AbortController().signal).catch((error: Error) => error.message);
}
