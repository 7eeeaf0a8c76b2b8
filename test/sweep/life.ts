import type { Context } from "@xfn/controller";
import { type Client, isApiError, type LiveObject, type Reconcile, type ResourceKind } from "@xfn/kubernetes";
import type { FunctionRunner } from "@xfn/pipeline";
import { type FaultyClient, faultyClient, type Write, type WriteFault } from "../harness/faulty-client.ts";
import { type SteppedInformers, steppedInformers } from "../harness/stepped-informers.ts";
import { COMPOSITIONS, DEFINITIONS } from "./kinds.ts";
import { textAt } from "./objects.ts";
import { type Random, shuffled } from "./random.ts";
import { reconcilers } from "./reconcilers.ts";

/** What one look at everything came to. */
export interface Pass {
  readonly crashed: boolean;
  /** Writes that were stored. */
  readonly writes: number;
  /** What did not succeed, one line each. */
  readonly failures: readonly string[];
  /** Something is to be looked at again soon. */
  readonly soon: boolean;
}

/** One controller, from its start to its end, a crash as a rule. */
export interface Life {
  readonly faulty: FaultyClient;
  readonly informers: SteppedInformers;
  /** Looks at everything once: definitions, compositions, composites, claims, in this order or, given numbers, in any. */
  pass(next?: Random): Promise<Pass>;
}

export interface LifeOptions {
  readonly client: Client;
  readonly runner: FunctionRunner;
  readonly faultAt: (write: Write) => WriteFault | undefined;
  /** What it may know of a kind without asking. */
  readonly known: (kind: ResourceKind) => readonly LiveObject[] | undefined;
  /** Which objects are this controller's to look at: several runs share a server. */
  readonly isOurs: (object: LiveObject) => boolean;
}

// Who asks to be called again after ten seconds or more has given up for now.
const SOON_MS = 9_000;

interface Job {
  readonly name: string;
  readonly run: Reconcile;
  readonly key: string;
}

/** Starts a controller that knows nothing yet. Each reconcile is called by hand, one after the other: the same in each run. */
export function startLife(options: LifeOptions): Life {
  const faulty = faultyClient(options.client, options.faultAt);
  const informers = steppedInformers(faulty.client, options.known);
  const { signal } = new AbortController();
  const watched = new Map<string, () => void>();
  const context: Context = {
    client: faulty.client,
    informers,
    events: { record: () => undefined, flush: () => Promise.resolve() },
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    composed: {
      // As those of the program: begun with the first XR that has the kind. They end with the controller.
      watch: (_uid, kinds) => {
        for (const kind of kinds) {
          const key = `${kind.group}/${kind.plural}`;
          if (!watched.has(key)) watched.set(key, informers.acquire(kind).release);
        }
      },
      cache: (kind) => informers.peek(kind),
    },
    runner: options.runner,
    namespace: "default",
    pullSecretNamespaces: [],
    pollIntervalMs: 60_000,
    now: Date.now,
  };
  const made = reconcilers(context);
  const definitions = informers.acquire(DEFINITIONS).informer.cache;
  const compositions = informers.acquire(COMPOSITIONS).informer.cache;
  const instances = new Map<string, Job["run"]>();

  const jobs = (): Job[] => {
    const ours = (kind: ResourceKind): readonly LiveObject[] =>
      informers.acquire(kind).informer.cache.list().filter(options.isOurs);
    const found = definitions
      .list()
      .filter(options.isOurs)
      .map((one) => job("definition", made.definition, one));
    found.push(
      ...compositions
        .list()
        .filter(options.isOurs)
        .map((one) => job("composition", made.revision, one)),
    );
    for (const object of definitions.list()) {
      const definition = isServed(object) ? made.readDefinition(object) : undefined;
      if (definition === undefined) continue;
      const { group, names, claimNames, versions } = definition.spec;
      const version = versions.find(({ referenceable }) => referenceable)?.name ?? "";
      const id = `${object.metadata.uid}/${String(object.metadata["generation"])}`;
      const instance = (what: "composite" | "claim", kind: ResourceKind): void => {
        const run = instances.get(`${what}/${id}`) ?? made[what](definition);
        instances.set(`${what}/${id}`, run);
        found.push(...ours(kind).map((one) => job(what, run, one)));
      };
      instance("composite", { group, version, kind: names.kind, plural: names.plural, namespaced: false });
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
  // Nobody reads the logs of a thousand controllers.
}
