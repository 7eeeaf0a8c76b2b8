import { machineryOf } from "@xfn/composition";
import { claimFieldOf, type Definition, layoutOfDefinition } from "@xfn/composition/definition";
import { textAt } from "@xfn/json";
import { type LiveObject, type Reconcile, type ResourceKind, resourceOf } from "@xfn/kubernetes";
import type { RequiredWatches } from "../objects/context.ts";
import { claimKindOf, compositeKindOf } from "../objects/definition-kinds.ts";
import { queueKey } from "../objects/references.ts";
import type { PolledReconcile } from "../objects/requeue-after.ts";
import type { ComposedKindWatches } from "./composed-watches.ts";
import { KindController, type KindControllerOptions } from "./kind-controller.ts";
import { watchRecorded } from "./watch-recorded.ts";

/** Makes the reconcilers of a definition's instances. */
export interface InstanceReconcilers {
  composite(definition: Definition): PolledReconcile;
  claim(definition: Definition): Reconcile;
  /** Parses a definition; undefined if it has errors. */
  readDefinition(object: LiveObject): Definition | undefined;
  /**
   * The object that offers the claims of a definition according to its condition `Offered`: the definition itself, or
   * its InfrastructurePublication. Default: the definition.
   */
  offeringOf?: ((object: LiveObject) => LiveObject | undefined) | undefined;
}

export interface InstanceOptions
  extends Pick<KindControllerOptions, "context" | "slots" | "observer" | "onStopped" | "running"> {
  readonly composed: ComposedKindWatches;
  readonly required: RequiredWatches;
  readonly reconcilers: InstanceReconcilers;
}

/** An index of composites by the name of their Composition; "" for none. */
export const BY_COMPOSITION = "xfn/composition";

/** An index of composites by the name of their recorded revision; "" for none. */
export const BY_REVISION = "xfn/composition-revision";

/** The controllers of the composites and claims of one definition. */
export class InstanceControllers {
  readonly composites: KindController;
  readonly #options: InstanceOptions;
  #definition: Definition;
  #claims: KindController | undefined;

  /** Starts the controller of the composites. */
  constructor(options: InstanceOptions, definition: Definition) {
    this.#options = options;
    this.#definition = definition;
    this.composites = this.#startComposites();
  }

  get definition(): Definition {
    return this.#definition;
  }

  get claims(): KindController | undefined {
    return this.#claims;
  }

  /** Uses a changed definition with the same kinds, and reconciles all instances. */
  replace(definition: Definition): void {
    const { reconcilers } = this.#options;
    this.#definition = definition;
    this.composites.replace(reconcilers.composite(definition));
    this.composites.enqueueAll();
    this.#claims?.replace(reconcilers.claim(definition));
    this.#claims?.enqueueAll();
  }

  startClaims(kind: ResourceKind): void {
    const { context, slots, observer, running, onStopped, reconcilers } = this.#options;
    this.#claims = new KindController({
      context,
      slots,
      observer,
      running,
      onStopped,
      controller: `claim/${resourceOf(this.composites.kind)}`,
      kind,
      reconcile: reconcilers.claim(this.#definition),
      // A claim creates the composite if it does not find it, so the cache of composites must be complete.
      prepare: async (_, signal) => {
        const { informer, release } = context.informers.acquire(this.composites.kind);
        try {
          await informer.whenSynced(signal);
        } finally {
          release();
        }
      },
    });
  }

  async stopClaims(graceMs?: number): Promise<void> {
    const claims = this.#claims;
    this.#claims = undefined;
    await claims?.stop(graceMs);
  }

  async stop(graceMs?: number): Promise<void> {
    for (const { metadata } of this.composites.cache.list()) this.#unwatch(metadata.uid);
    await Promise.all([this.stopClaims(graceMs), this.composites.stop(graceMs)]);
  }

  #startComposites(): KindController {
    const { context, slots, observer, running, onStopped, composed, reconcilers } = this.#options;
    const layout = layoutOfDefinition(this.#definition);
    const kind = compositeKindOf(this.#definition);
    const enqueueClaim = (composite: LiveObject): void => this.#enqueueClaim(composite);
    return new KindController({
      context,
      slots,
      observer,
      running,
      onStopped,
      controller: `composite/${resourceOf(kind)}`,
      kind,
      reconcile: reconcilers.composite(this.#definition),
      indexers: {
        [BY_COMPOSITION]: (object) => [textAt(machineryOf(object, layout), "compositionRef", "name") ?? ""],
        [BY_REVISION]: (object) => [textAt(machineryOf(object, layout), "compositionRevisionRef", "name") ?? ""],
      },
      prepare: (cache, signal) => watchRecorded(context.client, composed, cache, layout, signal),
      handlers: {
        added: enqueueClaim,
        updated: enqueueClaim,
        deleted: (last) => {
          this.#unwatch(last.metadata.uid);
          enqueueClaim(last);
        },
      },
    });
  }

  #unwatch(xrUid: string): void {
    const { composed, required } = this.#options;
    composed.watch(xrUid, []);
    required.forget(xrUid);
  }

  #enqueueClaim(composite: LiveObject): void {
    const field = claimFieldOf(this.#definition);
    const name = textAt(composite, "spec", field, "name");
    if (name !== undefined) this.#claims?.enqueue(queueKey(name, textAt(composite, "spec", field, "namespace")));
  }
}

/** Whether two states of a definition have the same kinds, so that the controllers of one can serve the other. */
export function hasSameKinds(a: Definition, b: Definition): boolean {
  const kinds = (definition: Definition): string =>
    JSON.stringify([compositeKindOf(definition), claimKindOf(definition)]);
  return kinds(a) === kinds(b);
}
