import type { Reconcile } from "@xfn/kubernetes";
import { type ClaimNeeds, claimReconciler } from "../claim/reconcile-claim.ts";
import { type CompositeOptions, compositeReconciler } from "../composite/composite-reconciler.ts";
import type { DefinitionNeeds } from "../definition/definition-port.ts";
import { publicationOf } from "../definition/publication-of.ts";
import { readDefinition } from "../definition/read-definition.ts";
import { definitionReconciler } from "../definition/reconcile-definition.ts";
import { publicationReconciler } from "../definition/reconcile-publication.ts";
import type { Reconcilers } from "../engine/engine.ts";
import type { PackageReconcilers } from "../engine/package-controllers.ts";
import { APPLICATION_DEFINITIONS, INFRASTRUCTURE_DEFINITIONS } from "../objects/kinds.ts";
import type { PackageOptions } from "../package/package-port.ts";
import { type CompositionOptions, revisionReconciler } from "../revision/reconcile-composition.ts";
import type { RolloutOptions } from "../rollout/reconcile-rollout.ts";

/** The dependencies and settings of all reconcilers. */
export type ReconcilerOptions = ClaimNeeds & CompositeOptions & CompositionOptions & DefinitionNeeds & PackageOptions;

/**
 * The reconcilers of all kinds.
 *
 * @param packages makes those of packages, whose modules are loaded only if packages are enabled
 * @param rollouts makes that of rollouts, in the same way
 * @param resourceComposition whether `--enable-resource-composition` is set
 */
export function allReconcilers(
  options: ReconcilerOptions,
  packages: ((options: PackageOptions) => PackageReconcilers) | undefined,
  rollouts: ((options: RolloutOptions) => Reconcile) | undefined,
  resourceComposition: boolean,
): Reconcilers {
  return {
    definition: definitionReconciler(options),
    ...(resourceComposition && {
      resourceComposition: {
        infrastructure: definitionReconciler(options, INFRASTRUCTURE_DEFINITIONS),
        application: definitionReconciler(options, APPLICATION_DEFINITIONS),
        publication: publicationReconciler(options),
      },
    }),
    revision:
      rollouts === undefined ? revisionReconciler(options) : inTurn(revisionReconciler(options), rollouts(options)),
    composite: (definition) => compositeReconciler(options, definition),
    claim: (definition) => claimReconciler(options, definition),
    readDefinition: (object) => readDefinition(object, { isPublished: publicationOf(options, object) !== undefined }),
    offeringOf: (object) => (object.kind === INFRASTRUCTURE_DEFINITIONS.kind ? publicationOf(options, object) : object),
    packages: packages?.(options),
  };
}

/** Reconciles the revisions of a Composition, then the rollout of the newest. */
function inTurn(first: Reconcile, second: Reconcile): Reconcile {
  return async (key, signal) => (await first(key, signal)) ?? (await second(key, signal));
}
