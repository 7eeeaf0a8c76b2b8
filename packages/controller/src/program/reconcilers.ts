import { claimReconciler } from "../claim/reconcile-claim.ts";
import { compositeReconciler } from "../composite/reconcile-composite.ts";
import { readDefinition } from "../definition/read-definition.ts";
import { definitionReconciler } from "../definition/reconcile-definition.ts";
import type { Reconcilers } from "../engine/engine.ts";
import type { PackageReconcilers } from "../engine/package-controllers.ts";
import type { Context } from "../objects/context.ts";
import { revisionReconciler } from "../revision/reconcile-composition.ts";

/**
 * The reconcilers of all kinds.
 *
 * @param packages makes those of packages, whose modules are loaded only if packages are enabled
 */
export function allReconcilers(
  context: Context,
  packages: ((context: Context) => PackageReconcilers) | undefined,
): Reconcilers {
  return {
    definition: definitionReconciler(context),
    revision: revisionReconciler(context),
    composite: (definition) => compositeReconciler(context, definition),
    claim: (definition) => claimReconciler(context, definition),
    readDefinition,
    packages: packages?.(context),
  };
}
