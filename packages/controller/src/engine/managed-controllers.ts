import type { LiveObject } from "@xfn/kubernetes";
import type { ManagedReconcilers } from "../managed/managed-reconcilers.ts";
import { activationOf } from "../managed/plan-activation.ts";
import { ACTIVATION_POLICIES, CRDS, MANAGED_DEFINITIONS } from "../objects/kinds.ts";
import { CRD_CACHE, DEFINITION_CACHE, stateOf } from "../package/managed/observed-state.ts";
import { KindController, type KindControllerOptions } from "./kind-controller.ts";

type Shared = Pick<KindControllerOptions, "context" | "slots" | "observer" | "running">;

/** The controllers of ManagedResourceDefinitions and of the policies that activate them. */
export class ManagedControllers {
  readonly #definitions: KindController;
  readonly #policies: KindController;
  readonly #ends: (() => void)[] = [];

  /** @param changed called when the state of a definition changes, and without one when all are listed */
  constructor(shared: Shared, { definition, policy }: ManagedReconcilers, changed: (definition?: LiveObject) => void) {
    this.#policies = new KindController({ ...shared, kind: ACTIVATION_POLICIES, reconcile: policy });
    this.#definitions = new KindController({
      ...shared,
      kind: MANAGED_DEFINITIONS,
      reconcile: definition,
      selection: DEFINITION_CACHE,
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
    const { informer, release } = shared.context.informers.acquire(CRDS, CRD_CACHE);
    const enqueue = ({ metadata }: LiveObject): void => this.#definitions.enqueue(metadata.name);
    this.#ends.push(informer.subscribe({ added: enqueue, updated: enqueue, deleted: enqueue }), release);
  }

  async stop(graceMs?: number): Promise<void> {
    await Promise.all([this.#definitions.stop(graceMs), this.#policies.stop(graceMs)]);
    for (const end of this.#ends) end();
  }

  #enqueuePolicies(definition: LiveObject): void {
    const matching = this.#policies.cache
      .list()
      .filter((policy) => activationOf(policy, [definition]).definitions.length > 0);
    this.#policies.enqueueAll(matching);
  }
}
