import type { Client, LiveObject, ResourceKind } from "@xfn/kubernetes";
import { afterEach } from "vitest";
import { readDefinition } from "../src/definition/read-definition.ts";
import { type Engine, type EngineWatches, startEngine } from "../src/engine/engine.ts";
import { DEFINITIONS } from "../src/objects/kinds.ts";
import { type FakeInformers, fakeInformers } from "./fake-informers.ts";

export const APPS: ResourceKind = {
  group: "example.org",
  version: "v1",
  kind: "XApp",
  plural: "xapps",
  namespaced: false,
};
export const CLAIMS: ResourceKind = {
  group: "example.org",
  version: "v1",
  kind: "App",
  plural: "apps",
  namespaced: true,
};
export const BUCKETS: ResourceKind = {
  group: "aws.org",
  version: "v1",
  kind: "Bucket",
  plural: "buckets",
  namespaced: false,
};

let engine: Engine | undefined;

afterEach(async () => {
  await engine?.stop();
});

/** Starts an engine whose reconcilers only record their keys. */
export function start(
  reconciled: (what: string) => Promise<void> | void = () => undefined,
  informers: FakeInformers = fakeInformers(),
  { resourceComposition = false } = {},
): {
  informers: FakeInformers;
  seen: string[];
  composed(): EngineWatches["composed"] | undefined;
  required(): EngineWatches["required"] | undefined;
  /** Why instances of the definition cannot be listed, as reconcilers see it. */
  problems(): ReturnType<EngineWatches["instanceProblems"]> | undefined;
  engine: Engine;
  /** The messages of warnings. */
  warnings: string[];
} {
  const seen: string[] = [];
  let watches: EngineWatches | undefined;
  const client = { forgetKinds: () => undefined, kind: () => Promise.resolve(BUCKETS) } as unknown as Client;
  const quiet = (): void => undefined;
  const warnings: string[] = [];
  const context: Parameters<typeof startEngine>[0] = {
    client,
    informers,
    events: { record: quiet, flush: () => Promise.resolve() },
    log: { debug: quiet, info: quiet, warn: (_: object, text: string) => void warnings.push(text), error: quiet },
    namespace: "xfn",
    pollIntervalMs: 60_000,
  };
  const reconciler = (kind: string) => async (key: string) => {
    seen.push(`${kind} ${key}`);
    await reconciled(`${kind} ${key}`);
    return undefined;
  };
  engine = startEngine(
    context,
    (made) => {
      watches = made;
      return {
        definition: reconciler("definition"),
        revision: reconciler("composition"),
        composite: ({ spec }) => reconciler(`${spec.names.kind}${spec.connectionSecretKeys.join("")}`),
        claim: ({ spec }) => reconciler(spec.claimNames?.kind ?? ""),
        readDefinition,
        ...(resourceComposition && {
          resourceComposition: {
            infrastructure: reconciler("infrastructure"),
            application: reconciler("application"),
            publication: reconciler("publication"),
          },
        }),
      };
    },
    { concurrency: 16 },
  );
  return {
    informers,
    seen,
    composed: () => watches?.composed,
    required: () => watches?.required,
    problems: () => watches?.instanceProblems("xapps.example.org"),
    engine,
    warnings,
  };
}

/** Waits until only timers are pending. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export function object(kind: ResourceKind, name: string, more: object = {}, meta: object = {}): LiveObject {
  const metadata = { name, uid: `uid-${name}`, resourceVersion: "1", generation: 1, ...meta };
  return { apiVersion: `${kind.group}/${kind.version}`, kind: kind.kind, metadata, ...more } as LiveObject;
}

export function definition(
  options: {
    conditions?: string[];
    controllers?: object;
    keys?: string[];
    enforced?: string;
    generation?: number;
    plural?: string;
    version?: string;
    meta?: object;
  } = {},
): LiveObject {
  const { conditions = ["Established", "Offered"], controllers = {}, keys = [], generation = 1, meta = {} } = options;
  const { plural = "xapps", version = "v1", enforced } = options;
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } };
  const spec = {
    group: "example.org",
    names: { kind: "XApp", plural },
    claimNames: { kind: "App", plural: plural.slice(1) },
    connectionSecretKeys: keys,
    ...(enforced !== undefined && { enforcedCompositionRef: { name: enforced } }),
    versions: [{ name: version, served: true, referenceable: true, schema }],
  };
  const status = { conditions: conditions.map((type) => ({ type, status: "True" })), controllers };
  return object(DEFINITIONS, `${plural}.example.org`, { spec, status }, { generation, ...meta });
}

export const xr = (name: string, spec: object = {}): LiveObject => object(APPS, name, { spec });

/** A bucket that an XR has composed. */
export const bucketOf = (xrName: string): LiveObject => {
  const owner = { apiVersion: "example.org/v1", kind: "XApp", name: xrName, uid: `uid-${xrName}`, controller: true };
  return object(BUCKETS, `of-${xrName}`, {}, { ownerReferences: [owner] });
};
