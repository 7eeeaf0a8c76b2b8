import type { Definition } from "@xfn/composition/definition";
import {
  claimReconciler,
  compositeReconciler,
  compositionRevisionReconciler,
  definitionReconciler,
  functionRuntimeReconciler,
  lockReconciler,
  managedReconcilers,
  operationReconcilers,
  PACKAGES,
  packagePort,
  packageReconciler,
  packageRevisionReconciler,
  publicationReconciler,
  type ReconcilerOptions,
  readDefinition,
  revisionReconciler,
  rolloutReconciler,
  usageReconcilers,
} from "@xfn/controller";
import type { LiveObject, Reconcile, ResourceKind } from "@xfn/kubernetes";
import {
  ACTIVATION_POLICIES,
  CONFIGURATION_REVISIONS,
  CONFIGURATIONS,
  FUNCTION_REVISIONS,
  FUNCTION_RUNTIMES,
  FUNCTIONS,
  INFRASTRUCTURE,
  LOCKS,
  MANAGED_DEFINITIONS,
  OPERATIONS,
  PROVIDER_REVISIONS,
  PROVIDERS,
  REVISIONS,
} from "./kinds.ts";

/** The reconcilers of one controller. */
export interface Reconcilers {
  readonly definition: Reconcile;
  readonly infrastructure: Reconcile;
  readonly publication: Reconcile;
  readonly revision: Reconcile;
  composite(definition: Definition): Reconcile;
  claim(definition: Definition): Reconcile;
  readDefinition(object: LiveObject, options: { readonly isPublished: boolean }): Definition | undefined;
  /** The reconcilers of further kinds, by kind. */
  readonly others: readonly (readonly [kind: ResourceKind, reconcile: Reconcile])[];
}

/** The reconcilers of xfn-controller. */
export function reconcilers(context: ReconcilerOptions): Reconcilers {
  const port = packagePort(context);
  const managed = managedReconcilers(context);
  return {
    definition: definitionReconciler(context),
    infrastructure: definitionReconciler(context, INFRASTRUCTURE),
    publication: publicationReconciler(context),
    revision: async (key, signal) =>
      (await revisionReconciler(context)(key, signal)) ?? (await rolloutReconciler(context)(key, signal)),
    composite: (definition) => compositeReconciler(context, definition),
    claim: (definition) => claimReconciler(context, definition),
    readDefinition,
    others: [
      [CONFIGURATIONS, packageReconciler(port, PACKAGES.Configuration)],
      [PROVIDERS, packageReconciler(port, PACKAGES.Provider)],
      [FUNCTIONS, packageReconciler(port, PACKAGES.Function)],
      [LOCKS, lockReconciler(port)],
      [CONFIGURATION_REVISIONS, packageRevisionReconciler(port, PACKAGES.Configuration)],
      [PROVIDER_REVISIONS, packageRevisionReconciler(port, PACKAGES.Provider)],
      [FUNCTION_REVISIONS, packageRevisionReconciler(port, PACKAGES.Function)],
      [REVISIONS, compositionRevisionReconciler(port)],
      [FUNCTION_RUNTIMES, functionRuntimeReconciler(port)],
      ...usageReconcilers(context, true).map(({ kind, reconcile }) => [kind, reconcile] as const),
      [MANAGED_DEFINITIONS, managed.definition],
      [ACTIVATION_POLICIES, managed.policy],
      [OPERATIONS, operationReconcilers(context).operation],
    ],
  };
}
