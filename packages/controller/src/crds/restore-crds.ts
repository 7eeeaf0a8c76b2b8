import { type Client, type Informers, type LiveObject, WorkerSlots, workQueue } from "@xfn/kubernetes";
import { PART_OF_LABEL } from "../kinds/define-kind.ts";
import { CRDS } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { controllerCrds, type ServedKinds } from "./controller-crds.ts";
import { InstallError, installCrd } from "./install-crds.ts";

/**
 * Restores a CRD at once after a single `kubectl apply` of another schema. Against a GitOps tool that reapplies its
 * schema after each restore, it restores once a minute. Otherwise the CRD and the caches of its kind would change
 * without end. The controller's own writes count towards the limit.
 */
const PACE = { perSecond: 1 / 60, burst: 10 } as const;
const OWN_SELECTOR = { labelSelector: PART_OF_LABEL.join("="), metadataOnly: true } as const;

/** Options of {@link restoreCrds}. */
interface RestoreOptions {
  readonly client: Client;
  readonly informers: Informers;
  /** The CRDs that the controller has installed. */
  readonly served: ServedKinds;
  /** Called for each CRD that was restored, or with the error if it could not be restored. */
  readonly onRestore: (name: string, error?: unknown) => void;
}

/**
 * Reinstalls the controller's own CRDs when another writer deletes or changes them. Without a CRD, its objects are
 * gone. With another schema, the API server drops their fields. A CRD that loses the controller's label was handed
 * over, and stays as it is.
 *
 * @returns a function that ends the watch
 */
export function restoreCrds({ client, informers, served, onRestore }: RestoreOptions): () => Promise<void> {
  const own = new Map(controllerCrds(served).map((crd) => [crd.metadata?.name ?? "", crd]));
  const queue = workQueue({
    slots: new WorkerSlots(1),
    source: CRDS.kind,
    pace: PACE,
    reconcile: async (name, signal) => {
      const crd = own.get(name);
      if (crd === undefined) return undefined;
      try {
        if (await installCrd(client, crd, signal)) onRestore(name);
      } catch (error) {
        if (!(error instanceof InstallError) || error.code !== "CrdOfAnother") throw error;
        onRestore(name, error);
      }
      return undefined;
    },
    onFailure: ({ key, error }) => onRestore(key, error),
  });
  const { informer, release } = informers.acquire(CRDS, OWN_SELECTOR);
  const changed = ({ metadata: { name } }: LiveObject): void => queue.add(name);
  const unsubscribe = informer.subscribe({
    updated: (object, before) => {
      const isChanged = object.metadata["generation"] !== before.metadata["generation"];
      if (isChanged && !isBeingDeleted(object)) changed(object);
    },
    deleted: changed,
  });
  return async () => {
    unsubscribe();
    release();
    await queue.stop(0);
  };
}
