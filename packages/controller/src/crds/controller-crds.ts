import type { KubernetesObject } from "@xfn/json";
import type { Kind } from "../kinds/define-kind.ts";
import { OPERATION_KINDS } from "../kinds/operations.ts";
import { USAGE_KINDS } from "../kinds/usages.ts";
import {
  ACTIVATION_POLICIES,
  COMPOSITIONS,
  DEFINITIONS,
  ENVIRONMENT_CONFIGS,
  FUNCTION_RUNTIMES,
  MANAGED_DEFINITIONS,
  PACKAGE_KINDS,
  PROVIDER_RUNTIMES,
  RESOURCE_COMPOSITION_KINDS,
  REVISIONS,
  RUNTIME_CONFIGS,
} from "../objects/kinds.ts";

/** The kinds that the controller serves in addition to those of Compositions. */
export interface ServedKinds {
  /** Packages, their revisions and their settings (`--enable-packages`). */
  readonly packages?: boolean | undefined;
  /**
   * ManagedResourceDefinitions and their activation, with packages (`--enable-custom-to-managed-resource-conversion`).
   * Default: true.
   */
  readonly managedResources?: boolean | undefined;
  /** The runtimes of functions and providers, and their DeploymentRuntimeConfigs (`--enable-function-runtimes`). */
  readonly functionRuntimes?: boolean | undefined;
  /** InfrastructureDefinition, ApplicationDefinition, InfrastructurePublication (`--enable-resource-composition`). */
  readonly resourceComposition?: boolean | undefined;
  /** Usage and ClusterUsage (`--enable-usages`). */
  readonly usages?: boolean | undefined;
  /** Operation, CronOperation and WatchOperation (`--enable-operations`). */
  readonly operations?: boolean | undefined;
  /** The controller's version, for a label that `xfn version` reads. */
  readonly version?: string | undefined;
}

/**
 * The CustomResourceDefinitions of the controller's own kinds. The API server checks objects by their schemas and CEL
 * rules, the controllers check the rest. Options add CRDs but change none: if a CRD lost a field, its objects would
 * lose it too.
 */
export function controllerCrds(served: ServedKinds = {}): KubernetesObject[] {
  return kindsOf(served).map((kind) => kind.crd(served.version));
}

/** The kinds of these CRDs. */
export function kindsOf(served: ServedKinds): Kind<unknown>[] {
  const { packages = false, functionRuntimes = false, resourceComposition = false } = served;
  const { usages = false, operations = false, managedResources = true } = served;
  return [
    DEFINITIONS,
    COMPOSITIONS,
    REVISIONS,
    ENVIRONMENT_CONFIGS,
    ...(packages ? PACKAGE_KINDS : []),
    ...(packages && managedResources ? [MANAGED_DEFINITIONS, ACTIVATION_POLICIES] : []),
    ...(functionRuntimes ? [FUNCTION_RUNTIMES, PROVIDER_RUNTIMES] : []),
    ...(functionRuntimes && !packages ? [RUNTIME_CONFIGS] : []),
    ...(resourceComposition ? RESOURCE_COMPOSITION_KINDS : []),
    ...(usages ? USAGE_KINDS : []),
    ...(operations ? OPERATION_KINDS : []),
  ];
}
