import type { InformerOptions, LiveObject, ResourceKind } from "@xfn/kubernetes";
import { CLUSTER_USAGES } from "../kinds/usages.ts";
import type { ManagedReconcilers } from "../managed/managed-reconcilers.ts";
import { activationOf } from "../managed/plan-activation.ts";
import { LABEL_DEFINITION } from "../managed/plan-protection.ts";
import { ACTIVATION_POLICIES, CRDS, MANAGED_DEFINITIONS } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { isPaused } from "../objects/read-objects.ts";
import { CRD_CACHE, DEFINITION_CACHE, stateOf } from "../package/managed/observed-state.ts";
import { type EngineContext, KindController, type KindControllerOptions } from "./kind-controller.ts";

type Shared = Pick<KindControllerOptions, "context" | "slots" | "observer" | "running">;

/** The controllers of ManagedResourceDefinitions and of the policies that activate them. */
export class ManagedControllers {
  readonly #context: EngineContext;
  readonly #definitions: KindController;
  readonly #policies: KindController;
  readonly #protection: KindController | undefined;
  readonly #ends: (() => void)[] = [];

  /** @param changed called when the state of a definition changes, and without one when all are listed */
  constructor(
    shared: Shared,
    { definition, policy, protection }: ManagedReconcilers,
    changed: (definition?: LiveObject) => void,
  ) {
    this.#context = shared.context;
    this.#policies = new KindController({ ...shared, kind: ACTIVATION_POLICIES, reconcile: policy });
    this.#definitions = new KindController({
      ...shared,
      kind: MANAGED_DEFINITIONS,
      reconcile: definition,
      selection: DEFINITION_CACHE,
      isDue: (one) => stateOf(one) !== "Inactive" || isBeingDeleted(one) || isPaused(one),
      prepare: async () => changed(),
      handlers: {
        added: (one) => {
          if (stateOf(one) !== "Active") this.#enqueuePolicies(one);
        },
        updated: (one, before) => {
          if (stateOf(one) === stateOf(before)) return;
          changed(one);
          if (stateOf(one) !== "Active") this.#enqueuePolicies(one);
        },
        deleted: (last) => {
          changed(last);
          this.#enqueuePolicies(last);
        },
      },
    });
    const definitions = { kind: MANAGED_DEFINITIONS, selection: DEFINITION_CACHE };
    const isDue = (one: LiveObject): boolean => stateOf(one) === "Active";
    this.#protection = protection && new KindController({ ...shared, ...definitions, isDue, reconcile: protection });
    this.#watch(CRDS, CRD_CACHE, ({ metadata }) => this.#definitions.enqueue(metadata.name));
    if (protection === undefined) return;
    this.#watch(CLUSTER_USAGES, {}, ({ metadata }) => {
      const name = metadata.labels?.[LABEL_DEFINITION];
      if (name !== undefined) this.enqueueProtection(name);
    });
  }

  /** Protects the provider of a definition, or no longer. */
  enqueueProtection(definition: string): void {
    this.#protection?.enqueue(definition);
  }

  async stop(graceMs?: number): Promise<void> {
    await Promise.all([this.#definitions.stop(graceMs), this.#policies.stop(graceMs), this.#protection?.stop(graceMs)]);
    for (const end of this.#ends) end();
  }

  #watch(kind: ResourceKind, options: InformerOptions, changed: (object: LiveObject) => void): void {
    const { informer, release } = this.#context.informers.acquire(kind, options);
    this.#ends.push(informer.subscribe({ added: changed, updated: changed, deleted: changed }), release);
  }

  #enqueuePolicies(definition: LiveObject): void {
    const matching = this.#policies.cache
      .list()
      .filter((policy) => activationOf(policy, [definition]).definitions.length > 0);
    this.#policies.enqueueAll(matching);
  }
}
