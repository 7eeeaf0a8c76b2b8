import { claimReconciler } from "../claim/reconcile-claim.ts";
import { compositeReconciler } from "../composite/reconcile-composite.ts";
import { readDefinition } from "../definition/read-definition.ts";
import { definitionReconciler } from "../definition/reconcile-definition.ts";
import type { Reconcilers } from "../engine/engine.ts";
import type { Context } from "../objects/context.ts";
import { revisionReconciler } from "../revision/reconcile-composition.ts";

/** The reconcilers of all kinds. */
export function allReconcilers(context: Context): Reconcilers {
  return {
    definition: definitionReconciler(context),
    revision: revisionReconciler(context),
    composite: (definition) => compositeReconciler(context, definition),
    claim: (definition) => claimReconciler(context, definition),
    readDefinition,
  };
}
