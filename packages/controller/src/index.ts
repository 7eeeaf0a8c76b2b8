// The controllers of xfn in a Kubernetes API server: definitions, Compositions, composite resources, claims, packages,
// runtimes and rollouts.

export { claimReconciler } from "./claim/reconcile-claim.ts";
export { type CompositeOptions, compositeReconciler } from "./composite/composite-reconciler.ts";
export { controllerCrds } from "./crds/controller-crds.ts";
export { InstallError, installCrds } from "./crds/install-crds.ts";
export { migrateStorage, StorageError } from "./crds/migrate-storage.ts";
export { restoreCrds } from "./crds/restore-crds.ts";
export { readDefinition } from "./definition/read-definition.ts";
export { definitionReconciler } from "./definition/reconcile-definition.ts";
export { publicationReconciler } from "./definition/reconcile-publication.ts";
export { type Engine, type EngineOptions, type Reconcilers, startEngine } from "./engine/engine.ts";
export { allowedWebhooks } from "./functions/allowed-webhooks.ts";
export { pipelineInspector } from "./inspector/pipeline-inspector.ts";
export { managedReconcilers } from "./managed/managed-reconcilers.ts";
export { CompositeError, type CompositeErrorCode } from "./objects/composite-error.ts";
export type { ComposedWatches, FunctionHost, PackageRegistry, PipelineInspector } from "./objects/context.ts";
export { composedManager, FIELD_MANAGERS } from "./objects/field-managers.ts";
export { FUNCTION_REVISIONS, FUNCTION_RUNTIMES, FUNCTIONS } from "./objects/kinds.ts";
export type { Logger } from "./objects/logger.ts";
export { operationReconcilers } from "./operation/operation-reconcilers.ts";
export { PACKAGES, type PackageKinds } from "./package/package-kinds.ts";
export { type PackageOptions, type PackagePort, packagePort } from "./package/package-port.ts";
export { compositionRevisionReconciler } from "./package/reconcile-composition-revision.ts";
export { lockReconciler } from "./package/reconcile-lock.ts";
export { packageReconciler } from "./package/reconcile-package.ts";
export { packageRevisionReconciler } from "./package/reconcile-revision.ts";
export { PackageInstallError, type PackageInstallErrorCode } from "./package/registry/install-error.ts";
export type { ReconcilerOptions } from "./program/reconcilers.ts";
export { debugRecordings } from "./recordings/debug-recordings.ts";
export { revisionReconciler } from "./revision/reconcile-composition.ts";
export { type SelectedRevision, selectRevision } from "./revision/select-revision.ts";
export { SelectionError, type SelectionErrorCode } from "./revision/selection-error.ts";
export { type RolloutOptions, rolloutReconciler } from "./rollout/reconcile-rollout.ts";
export { functionRuntimeReconciler, providerRuntimeReconciler } from "./runtime/reconcile-runtime.ts";
export { usageReconcilers } from "./usage/reconcile-usage.ts";
