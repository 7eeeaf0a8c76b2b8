import type { Reconcile } from "@xfn/kubernetes";
import { claimReconciler } from "../claim/reconcile-claim.ts";
import { type CompositeOptions, compositeReconciler } from "../composite/composite-reconciler.ts";
import { publicationOf } from "../definition/publication-of.ts";
import { readDefinition } from "../definition/read-definition.ts";
import { definitionReconciler } from "../definition/reconcile-definition.ts";
import { publicationReconciler } from "../definition/reconcile-publication.ts";
import type { Reconcilers } from "../engine/engine.ts";
import type { PackageReconcilers } from "../engine/package-controllers.ts";
import type { Context } from "../objects/context.ts";
import { APPLICATION_DEFINITIONS, INFRASTRUCTURE_DEFINITIONS } from "../objects/kinds.ts";
import { revisionReconciler } from "../revision/reconcile-composition.ts";
import type { RolloutOptions } from "../rollout/reconcile-rollout.ts";

/**
 * The reconcilers of all kinds.
 *
 * @param packages makes those of packages, whose modules are loaded only if packages are enabled
 * @param rollouts makes that of rollouts, in the same way
 * @param resourceComposition whether `--enable-resource-composition` is set
 */
export function allReconcilers(
  context: Context & CompositeOptions,
  packages: ((context: Context) => PackageReconcilers) | undefined,
  rollouts: ((options: RolloutOptions) => Reconcile) | undefined,
  resourceComposition: boolean,
): Reconcilers {
  return {
    definition: definitionReconciler(context),
    ...(resourceComposition && {
      resourceComposition: {
        infrastructure: definitionReconciler(context, INFRASTRUCTURE_DEFINITIONS),
        application: definitionReconciler(context, APPLICATION_DEFINITIONS),
        publication: publicationReconciler(context),
      },
    }),
    revision:
      rollouts === undefined ? revisionReconciler(context) : inTurn(revisionReconciler(context), rollouts(context)),
    composite: (definition) => compositeReconciler(context, definition),
    claim: (definition) => claimReconciler(context, definition),
    readDefinition: (object) => readDefinition(object, { isPublished: publicationOf(context, object) !== undefined }),
    offeringOf: (object) => (object.kind === INFRASTRUCTURE_DEFINITIONS.kind ? publicationOf(context, object) : object),
    packages: packages?.(context),
  };
}

/** Reconciles the revisions of a Composition, then the rollout of the newest. */
function inTurn(first: Reconcile, second: Reconcile): Reconcile {
  return async (key, signal) => (await first(key, signal)) ?? (await second(key, signal));
}
