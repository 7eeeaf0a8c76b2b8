import type { Definition, KindNames } from "@xfn/composition/definition";
import type { LiveObject, Reconcile, ResourceKind, WorkerSlots } from "@xfn/kubernetes";
import { conditionOf } from "../objects/conditions.ts";
import type { ComposedWatches, Context } from "../objects/context.ts";
import { groupKind } from "../objects/kinds.ts";
import { textAt } from "../objects/read-objects.ts";
import { queueKey } from "../objects/references.ts";
import { describeFailure } from "./describe-failure.ts";
import type { ReconcileWatcher } from "./engine-metrics.ts";
import { type KindController, startKindController } from "./kind-controller.ts";
import { watchRecorded } from "./watch-recorded.ts";

/** What reconciles the instances of a definition. */
export interface InstanceReconcilers {
  composite(definition: Definition): Reconcile;
  claim(definition: Definition): Reconcile;
  /** A definition as the API server has it; undefined for one that cannot be used. */
  readDefinition(object: LiveObject): Definition | undefined;
}

/** Controllers of composites and claims, one or two for each definition. */
export interface DefinitionControllers {
  /** A definition came or changed: starts, renews or leaves alone its controllers. */
  changed(definition: LiveObject): void;
  /** A definition went: its controllers end. */
  gone(definition: LiveObject): void;
  /** The controller of a kind of composites, in whatever version it is spoken of. */
  composites(apiVersion: string, kind: string): KindController | undefined;
  /** Reconciles the composites that use a composition, and those that have none yet. */
  enqueueUsers(apiVersion: string, kind: string, composition: string): void;
  stop(graceMs?: number): Promise<void>;
}

interface Options {
  readonly context: Context;
  readonly composed: ComposedWatches;
  readonly reconcilers: InstanceReconcilers;
  readonly slots: WorkerSlots;
  readonly watcher?: ReconcileWatcher | undefined;
}

interface Running {
  definition: Definition;
  /** Of the spec that the controllers run with, to tell changes that matter from those of the status. */
  generation: string;
  readonly composite: KindController;
  claim: KindController | undefined;
}

/** An index of composites: by the composition that they name, "" for none. */
const BY_COMPOSITION = "xfn/composition";

/** Starts with none. */
export function definitionControllers(options: Options): DefinitionControllers {
  const { context, composed, reconcilers, slots, watcher } = options;
  const running = new Map<string, Running>();
  const byKind = new Map<string, KindController>();
  const stopping = new Set<Promise<void>>();

  const stopLater = (controller: KindController | undefined): void => {
    if (controller === undefined) return;
    const stopped = controller.stop().catch((error: unknown) => {
      context.log.warn({ kind: controller.kind.kind, ...describeFailure(error) }, "a controller did not stop well");
    });
    stopping.add(stopped);
    void stopped.finally(() => stopping.delete(stopped));
  };
  const startClaim = (definition: Definition, names: KindNames): KindController =>
    startKindController({
      context,
      slots,
      watcher,
      kind: kindOf(definition, names, true),
      reconcile: reconcilers.claim(definition),
      // A claim that does not find its composite makes one: the cache of composites is to be there first.
      prepare: async (_, signal) => {
        const { informer, release } = context.informers.acquire(kindOf(definition, definition.spec.names, false));
        try {
          await informer.whenSynced(signal);
        } finally {
          release();
        }
      },
    });
  const startComposite = (name: string, definition: Definition): KindController => {
    const kind = kindOf(definition, definition.spec.names, false);
    const { informer, release } = context.informers.acquire(kind);
    informer.addIndexers({ [BY_COMPOSITION]: (object) => [textAt(object, "spec", "compositionRef", "name") ?? ""] });
    const tellClaim = (object: LiveObject): void => {
      const claim = textAt(object, "spec", "claimRef", "name");
      if (claim === undefined) return;
      running.get(name)?.claim?.enqueue(queueKey(claim, textAt(object, "spec", "claimRef", "namespace")));
    };
    const controller = startKindController({
      context,
      slots,
      watcher,
      kind,
      reconcile: reconcilers.composite(definition),
      prepare: (cache, signal) => watchRecorded(context.client, composed, cache, signal),
      handlers: {
        added: tellClaim,
        updated: tellClaim,
        deleted(last) {
          composed.watch(last.metadata.uid, []);
          tellClaim(last);
        },
      },
    });
    return {
      ...controller,
      async stop(graceMs) {
        for (const { metadata } of informer.cache.list()) composed.watch(metadata.uid, []);
        await controller.stop(graceMs);
        release();
      },
    };
  };
  const begin = (name: string, definition: Definition, object: LiveObject): void => {
    const composite = startComposite(name, definition);
    const key = kindKey(definition);
    // Two have one kind while the earlier one still ends: it keeps the kind until then.
    if (!byKind.has(key)) byKind.set(key, composite);
    running.set(name, { definition, generation: generationOf(object), composite, claim: undefined });
    context.client.forgetKinds();
    context.log.info({ definition: name }, "composites are reconciled");
  };
  const end = (name: string): void => {
    const entry = running.get(name);
    if (entry === undefined) return;
    running.delete(name);
    passOn(kindKey(entry.definition), entry.composite);
    stopLater(entry.claim);
    stopLater(entry.composite);
    context.client.forgetKinds();
    context.log.info({ definition: name }, "composites are no longer reconciled");
  };
  const passOn = (key: string, from: KindController): void => {
    if (byKind.get(key) !== from) return;
    byKind.delete(key);
    const next = [...running.values()].find(({ definition }) => kindKey(definition) === key)?.composite;
    if (next === undefined) return;
    byKind.set(key, next);
    // Nobody told it of changes meanwhile.
    next.enqueueAll();
  };
  const followClaims = (name: string, entry: Running, object: LiveObject): void => {
    const { claimNames } = entry.definition.spec;
    const wanted = claimNames !== undefined && (entry.claim !== undefined || isServed(object, "Offered"));
    if (wanted && entry.claim === undefined) {
      entry.claim = startClaim(entry.definition, claimNames);
      context.log.info({ definition: name }, "claims are reconciled");
    } else if (!wanted && entry.claim !== undefined) {
      stopLater(entry.claim);
      entry.claim = undefined;
    }
  };

  return {
    changed(object) {
      const { name } = object.metadata;
      const entry = running.get(name);
      if (entry === undefined && !isServed(object, "Established")) return;
      // The one that it was goes on for as long as what it became cannot be used.
      const definition =
        entry !== undefined && entry.generation === generationOf(object)
          ? entry.definition
          : reconcilers.readDefinition(object);
      if (definition === undefined) return;
      // Nor is another version of use before the server stores it, which it may refuse for ever.
      const isOfUse = storesVersionOf(object, definition);
      if (entry === undefined) {
        if (isOfUse) begin(name, definition, object);
      } else if (definition !== entry.definition) {
        if (shapeOf(definition) === shapeOf(entry.definition)) renew(entry, definition, object);
        else if (isOfUse) {
          end(name);
          begin(name, definition, object);
        }
      }
      const now = running.get(name);
      if (now !== undefined) followClaims(name, now, object);
    },
    gone: ({ metadata }) => end(metadata.name),
    composites: (apiVersion, kind) => byKind.get(groupKind(apiVersion, kind)),
    enqueueUsers(apiVersion, kind, composition) {
      const controller = byKind.get(groupKind(apiVersion, kind));
      if (controller === undefined) return;
      for (const key of [composition, ""]) {
        for (const { metadata } of controller.cache.byIndex(BY_COMPOSITION, key))
          controller.enqueue(queueKey(metadata.name, metadata.namespace));
      }
    },
    async stop(graceMs) {
      const controllers = [...running.values()].flatMap(({ claim, composite }) => [claim, composite]);
      running.clear();
      byKind.clear();
      await Promise.all([...controllers.map((controller) => controller?.stop(graceMs)), ...stopping]);
    },
  };

  function renew(entry: Running, definition: Definition, object: LiveObject): void {
    entry.definition = definition;
    entry.generation = generationOf(object);
    entry.composite.replace(reconcilers.composite(definition));
    entry.composite.enqueueAll();
    entry.claim?.replace(reconcilers.claim(definition));
    entry.claim?.enqueueAll();
  }
}

/** Where a definition's status keeps the kind that was served, whatever its conditions have come to say (Crossplane v1.13). */
const SERVED_TYPES = { Established: "compositeResourceType", Offered: "compositeResourceClaimType" } as const;

// Instances of a definition that is going, or whose change the server refuses, go on. One that was always refused has no instances:
// those of its kind are another definition's.
function isServed(definition: LiveObject, type: "Established" | "Offered"): boolean {
  if (textAt(definition, "status", "controllers", SERVED_TYPES[type], "kind") !== undefined) return true;
  return definition.metadata["deletionTimestamp"] === undefined && conditionOf(definition, type)?.["status"] === "True";
}

/** Whether the server stores composites in the version that a definition makes them of, as far as its status says. */
function storesVersionOf(object: LiveObject, definition: Definition): boolean {
  const { group, version } = kindOf(definition, definition.spec.names, false);
  const stored = textAt(object, "status", "controllers", SERVED_TYPES.Established, "apiVersion");
  return stored === undefined || stored === `${group}/${version}`;
}

/** The kind of a definition's composites, in whatever version. */
function kindKey({ spec }: Definition): string {
  return groupKind(`${spec.group}/`, spec.names.kind);
}

function kindOf({ spec }: Definition, { kind, plural }: KindNames, namespaced: boolean): ResourceKind {
  // Compositions are written for this version, and it is the one that is stored.
  const version = spec.versions.find(({ referenceable }) => referenceable)?.name ?? "";
  return { group: spec.group, version, kind, plural, namespaced };
}

// What an informer is made of: another one needs another informer.
function shapeOf(definition: Definition): string {
  const { names, claimNames } = definition.spec;
  const shape = [names, claimNames].map((each) => each && kindOf(definition, each, each === claimNames));
  return JSON.stringify(shape);
}

function generationOf({ metadata }: LiveObject): string {
  return `${metadata.uid}/${JSON.stringify(Number(metadata["generation"]))}`;
}
