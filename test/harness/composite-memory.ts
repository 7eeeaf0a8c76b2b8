import { documentOf } from "@xfn/composition";
import { parseDefinition } from "@xfn/composition/definition";
import { type CompositeOptions, compositeReconciler } from "@xfn/controller";
import { isObject, type JsonObject } from "@xfn/json";
import type { Cache, LiveObject, Outcome } from "@xfn/kubernetes";
import { DEFINITION } from "./composite-kinds.ts";
import { type MemoryClient, memoryClient } from "./memory-client.ts";
import { wholeCache } from "./whole-cache.ts";

export const WIDGET = { apiVersion: "things.example.org/v1", kind: "Widget" };
const XR_UID = "xr-uid";

export const xr = (spec: JsonObject = {}, metadata: JsonObject = {}): LiveObject => ({
  apiVersion: "example.org/v1",
  kind: "XDatabase",
  metadata: { name: "xr", uid: XR_UID, resourceVersion: "1", ...metadata },
  spec,
});
export const owner = (uid = XR_UID): JsonObject => ({
  apiVersion: "example.org/v1",
  kind: "XDatabase",
  name: "xr",
  uid,
  controller: true,
});
export const widget = (name: string, entry: string, metadata: JsonObject = {}): LiveObject => ({
  ...WIDGET,
  metadata: {
    name,
    uid: `uid-${name}`,
    resourceVersion: "1",
    annotations: { "crossplane.io/composition-resource-name": entry },
    ownerReferences: [owner()],
    ...metadata,
  },
  spec: {},
});
export const named = (entry: string, name: string): JsonObject => ({
  name: entry,
  base: { ...WIDGET, spec: { size: 1 } },
  patches: [
    {
      type: "CombineFromComposite",
      combine: { strategy: "string", variables: [{ fromFieldPath: "kind" }], string: { fmt: `${name}%.0s` } },
      toFieldPath: "metadata.name",
    },
  ],
});
export const unnamed = (entry: string): JsonObject => ({ name: entry, base: { ...WIDGET, spec: { size: 1 } } });

export interface World {
  client: MemoryClient;
  /** The number of reconciles that declared the kinds which they need: a complete reconcile does. */
  complete: number;
  events: string[];
  /** Makes a new revision of the Composition, with these templates. */
  compose(...resources: JsonObject[]): void;
  /** Makes a new revision of the Composition, with these fields of its spec. */
  composeSpec(spec: JsonObject, status?: JsonObject): void;
  /** The content of the caches; undefined: that of the server. */
  seen: { xr?: LiveObject | undefined; composed?: readonly LiveObject[] | undefined };
  reconcile(): Promise<Outcome | undefined>;
  restart(): void;
  titles(): string[];
  now: number;
}

/** @param definitionSpec fields of the spec of the XR's definition */
export function world(
  objects: readonly LiveObject[],
  how: Partial<CompositeOptions> = {},
  definitionSpec: JsonObject = {},
): World {
  const client = memoryClient(objects, { unserved: ["Gadget"] });
  const compositeTypeRef = { apiVersion: "example.org/v1", kind: "XDatabase" };
  let content: JsonObject = { resources: [] };
  let number = 0;
  const events: string[] = [];
  const cacheOf = (list: readonly LiveObject[]): Cache => ({
    get: (name, namespace = "") =>
      list.find(({ metadata }) => metadata.name === name && (metadata.namespace ?? "") === namespace),
    list: () => list,
    byIndex: () => [],
  });
  let revision: LiveObject | undefined;
  const live = (kind: string): LiveObject[] => [...client.objects.values()].filter((one) => one.kind === kind);
  const made: World = {
    client,
    events,
    complete: 0,
    seen: {},
    now: Date.parse("2026-01-01T00:00:00Z"),
    compose: (...resources) => made.composeSpec({ resources }),
    composeSpec(spec, status) {
      content = spec;
      number++;
      revision = {
        apiVersion: "apiextensions.crossplane.io/v1",
        kind: "CompositionRevision",
        metadata: {
          name: `c-${number}`,
          uid: `r-${number}`,
          resourceVersion: "1",
          labels: { "crossplane.io/composition-name": "c" },
          ownerReferences: [
            {
              apiVersion: "apiextensions.crossplane.io/v1",
              kind: "Composition",
              name: "c",
              uid: "c",
              controller: true,
            },
          ],
        },
        spec: { compositeTypeRef, ...content, revision: number },
        ...(status && { status }),
      };
    },
    reconcile: () => reconciler("xr", new AbortController().signal),
    restart() {
      reconciler = compositeReconciler(context, definition);
    },
    titles: () => client.writes.map(({ verb, object, subresource = "" }) => `${verb} ${object} ${subresource}`.trim()),
  };
  const { spec } = DEFINITION;
  const definition = parseDefinition(
    documentOf({ ...DEFINITION, spec: { ...(isObject(spec) ? spec : {}), ...definitionSpec } }),
  );
  const composition = (): LiveObject => ({
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: "c", uid: "c", resourceVersion: "1" },
    spec: { compositeTypeRef, ...content },
  });
  const context: CompositeOptions = {
    client,
    informers: {
      acquire: () => {
        throw new TypeError("not needed");
      },
      peek: (kind) => {
        if (kind.kind === "Composition") return cacheOf([composition()]);
        if (kind.kind === "CompositionRevision") return cacheOf(revision === undefined ? [] : [revision]);
        if (kind.kind !== "XDatabase") return cacheOf(live(kind.kind));
        return cacheOf("xr" in made.seen ? (made.seen.xr === undefined ? [] : [made.seen.xr]) : live("XDatabase"));
      },
      stop: async () => {},
    },
    events: { record: (_, { message }) => void events.push(message), flush: async () => {} },
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    composed: {
      watch: () => void made.complete++,
      cache: (kind) => wholeCache(cacheOf(made.seen.composed ?? live(kind.kind))),
      problem: () => undefined,
    },
    namespace: "xfn-system",
    pullSecretNamespaces: [],
    pollIntervalMs: 60_000,
    now: () => made.now,
    ...how,
  };
  let reconciler = compositeReconciler(context, definition);
  return made;
}

export const get = (client: MemoryClient, kind: string, name: string): LiveObject | undefined =>
  [...client.objects.values()].find((one) => one.kind === kind && one.metadata.name === name);
export const referencesOf = (client: MemoryClient): unknown[] => {
  const spec = get(client, "XDatabase", "xr")?.["spec"];
  const list = isObject(spec) ? spec["resourceRefs"] : undefined;
  return Array.isArray(list) ? list.map((one) => isObject(one) && one["name"]) : [];
};

/** A connection secret. */
export const secret = (namespace: string, name: string, ownerReferences: JsonObject[]): LiveObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace, name, uid: `uid-${name}`, resourceVersion: "1", ownerReferences },
  type: "connection.crossplane.io/v1alpha1",
  data: { user: "YWRtaW4=" },
});
