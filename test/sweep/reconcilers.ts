import type { Definition } from "@xfn/composition/definition";
import {
  type Context,
  claimReconciler,
  compositeReconciler,
  definitionReconciler,
  readDefinition,
  revisionReconciler,
} from "@xfn/controller";
import type { LiveObject, Reconcile } from "@xfn/kubernetes";

/** The reconcilers of one controller. */
export interface Reconcilers {
  readonly definition: Reconcile;
  readonly revision: Reconcile;
  composite(definition: Definition): Reconcile;
  claim(definition: Definition): Reconcile;
  readDefinition(object: LiveObject): Definition | undefined;
}

/** The reconcilers of xfn-controller. */
export function reconcilers(context: Context): Reconcilers {
  return {
    definition: definitionReconciler(context),
    revision: revisionReconciler(context),
    composite: (definition) => compositeReconciler(context, definition),
    claim: (definition) => claimReconciler(context, definition),
    readDefinition,
  };
}
