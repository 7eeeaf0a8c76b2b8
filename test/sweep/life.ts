import type { ReconcilerOptions } from "@xfn/controller";
import { type Client, isApiError, type LiveObject, type Reconcile, type ResourceKind } from "@xfn/kubernetes";
import type { FunctionRunner } from "@xfn/pipeline";
import { type FaultyClient, faultyClient, type Write, type WriteFault } from "../harness/faulty-client.ts";
import { type SteppedInformers, steppedInformers } from "../harness/stepped-informers.ts";
import { wholeCache } from "../harness/whole-cache.ts";
import { COMPOSITIONS, DEFINITIONS, IMAGE_CONFIGS, INFRASTRUCTURE, PUBLICATIONS } from "./kinds.ts";
import { textAt } from "./objects.ts";
import { withOwnLock } from "./own-lock.ts";
import { packageContext } from "./packages.ts";
import { type Random, shuffled } from "./random.ts";
import { reconcilers } from "./reconcilers.ts";

/** The result of one reconcile of everything. */
export interface Pass {
  readonly crashed: boolean;
  /** The number of stored writes. */
  readonly writes: number;
  /** The failed reconciles, one line each. */
  readonly failures: readonly string[];
  /** Whether a reconciler asked for a requeue soon. */
  readonly soon: boolean;
}

/** One controller from its start to its end, which is usually a crash. */
export interface Life {
  readonly faulty: FaultyClient;
  readonly informers: SteppedInformers;
  /** Reconciles everything once: definitions, Compositions, composites, claims; in this order, or in a random one. */
  pass(next?: Random): Promise<Pass>;
}

export interface LifeOptions {
  readonly client: Client;
  readonly runner: FunctionRunner;
  readonly faultAt: (write: Write) => WriteFault | undefined;
  /** The objects of a kind that its caches may have. */
  readonly known: (kind: ResourceKind) => readonly LiveObject[] | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The name of its Lock. */
  readonly lock: string;
  /** Selects the objects that this controller reconciles: several runs share a server. */
  readonly isOurs: (object: LiveObject) => boolean;
}

// A longer time means that the reconciler waits for a user.
const SOON_MS = 9_000;

interface Job {
  readonly name: string;
  readonly run: Reconcile;
  readonly key: string;
}

/** Starts a controller without memory. The reconciles are called one after the other, so that every run is the same. */
export function startLife(options: LifeOptions): Life {
  const faulty = faultyClient(options.client, options.faultAt);
  const informers = steppedInformers(faulty.client, options.known);
  const { signal } = new AbortController();
  const watched = new Map<string, () => void>();
  const context: ReconcilerOptions = {
    ...withOwnLock(faulty.client, informers, options.lock),
    events: { record: () => undefined, flush: () => Promise.resolve() },
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    composed: {
      // Like those of the program, they start with the first XR that needs the kind. They end with the controller.
      watch: (_uid, kinds) => {
        for (const kind of kinds) {
          const key = `${kind.group}/${kind.plural}`;
          if (!watched.has(key)) watched.set(key, informers.acquire(kind).release);
        }
      },
      cache: (kind) => {
        const cache = informers.peek(kind);
        return cache && wholeCache(cache);
      },
      problem: () => undefined,
    },
    runner: options.runner,
    namespace: "default",
    pullSecretNamespaces: [],
    pollIntervalMs: 60_000,
    now: options.now,
    ...packageContext(),
  };
  const reconcile = reconcilers(context);
  // The controllers of packages watch them.
  informers.acquire(IMAGE_CONFIGS);
  const definitions = informers.acquire(DEFINITIONS).informer.cache;
  const infrastructure = informers.acquire(INFRASTRUCTURE).informer.cache;
  const publications = informers.acquire(PUBLICATIONS).informer.cache;
  const compositions = informers.acquire(COMPOSITIONS).informer.cache;
  const instances = new Map<string, Job["run"]>();

  const jobs = (): Job[] => {
    const ours = (kind: ResourceKind): readonly LiveObject[] =>
      informers.acquire(kind).informer.cache.list().filter(options.isOurs);
    const found = definitions
      .list()
      .filter(options.isOurs)
      .map((one) => job("definition", reconcile.definition, one));
    found.push(...ours(INFRASTRUCTURE).map((one) => job("infrastructure", reconcile.infrastructure, one)));
    found.push(...ours(PUBLICATIONS).map((one) => job("publication", reconcile.publication, one)));
    found.push(
      ...compositions
        .list()
        .filter(options.isOurs)
        .map((one) => job("composition", reconcile.revision, one)),
    );
    for (const [kind, run] of reconcile.others) found.push(...ours(kind).map((one) => job(kind.kind, run, one)));
    for (const object of [...definitions.list(), ...infrastructure.list()]) {
      const publication = object.kind === INFRASTRUCTURE.kind ? publications.get(object.metadata.name) : undefined;
      const isPublished = publication !== undefined;
      const definition = isServed(object) ? reconcile.readDefinition(object, { isPublished }) : undefined;
      if (definition === undefined) continue;
      const { group, names, claimNames, versions, scope } = definition.spec;
      const version = versions.find(({ referenceable }) => referenceable)?.name ?? "";
      const id = `${object.metadata.uid}/${String(object.metadata["generation"])}/${publication?.metadata.uid ?? ""}`;
      const instance = (what: "composite" | "claim", kind: ResourceKind): void => {
        const run = instances.get(`${what}/${id}`) ?? reconcile[what](definition);
        instances.set(`${what}/${id}`, run);
        found.push(...ours(kind).map((one) => job(what, run, one)));
      };
      const namespaced = scope === "Namespaced" || scope === "LegacyNamespaced";
      instance("composite", { group, version, kind: names.kind, plural: names.plural, namespaced });
      if (claimNames !== undefined)
        instance("claim", { group, version, kind: claimNames.kind, plural: claimNames.plural, namespaced: true });
    }
    return found;
  };

  return {
    faulty,
    informers,
    pass: async (next) => {
      const before = faulty.stored;
      const failures: string[] = [];
      let soon = false;
      const due = jobs();
      for (const { name, run, key } of next === undefined ? due : shuffled(due, next)) {
        try {
          const outcome = await Promise.race([run(key, signal), faulty.crashed]);
          if (outcome?.requeueAfterMs !== undefined && outcome.requeueAfterMs <= SOON_MS) soon = true;
        } catch (error) {
          failures.push(`${name} ${key}: ${describe(error)}`);
        }
        if (faulty.hasCrashed) break;
      }
      return { crashed: faulty.hasCrashed, writes: faulty.stored - before, failures, soon };
    },
  };
}

function job(name: string, run: Reconcile, { metadata }: LiveObject): Job {
  const { name: own, namespace } = metadata;
  return { name, run, key: namespace === undefined || namespace === "" ? own : `${namespace}/${own}` };
}

function isServed(definition: LiveObject): boolean {
  if (definition.metadata["deletionTimestamp"] !== undefined) return true;
  const status = definition["status"];
  const conditions =
    typeof status === "object" && status !== null && "conditions" in status ? status["conditions"] : [];
  return (
    Array.isArray(conditions) &&
    conditions.some((one) => textAt(one, "type") === "Established" && textAt(one, "status") === "True")
  );
}

function describe(error: unknown): string {
  if (isApiError(error)) return `${error.code}: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function ignore(): void {
  // The sweep checks results, not logs.
}
