import type { KubernetesObject } from "@xfn/json";
import { apiVersionOf, type ObjectReference, type ResourceKind } from "@xfn/kubernetes";
import { COMPOSITIONS, REVISIONS } from "../kinds/compositions.ts";
import type { Kind } from "../kinds/define-kind.ts";
import {
  APPLICATION_DEFINITIONS,
  DEFINITIONS,
  INFRASTRUCTURE_DEFINITIONS,
  PUBLICATIONS,
} from "../kinds/definitions.ts";
import { ENVIRONMENT_CONFIGS } from "../kinds/environment-configs.ts";
import { IMAGE_CONFIGS } from "../kinds/image-configs.ts";
import { LOCKS } from "../kinds/locks.ts";
import { ACTIVATION_POLICIES, MANAGED_DEFINITIONS } from "../kinds/managed-resources.ts";
import {
  CONFIGURATION_REVISIONS,
  CONFIGURATIONS,
  FUNCTION_REVISIONS,
  FUNCTIONS,
  PROVIDER_REVISIONS,
  PROVIDERS,
} from "../kinds/packages.ts";
import { RUNTIME_CONFIGS } from "../kinds/runtime-configs.ts";
import { FUNCTION_RUNTIMES, PROVIDER_RUNTIMES } from "../kinds/runtimes.ts";

// The kinds that the controllers know by name. Every other kind comes from a definition or from discovery.

export {
  ACTIVATION_POLICIES,
  APPLICATION_DEFINITIONS,
  COMPOSITIONS,
  CONFIGURATION_REVISIONS,
  CONFIGURATIONS,
  DEFINITIONS,
  ENVIRONMENT_CONFIGS,
  FUNCTION_REVISIONS,
  FUNCTION_RUNTIMES,
  FUNCTIONS,
  IMAGE_CONFIGS,
  INFRASTRUCTURE_DEFINITIONS,
  LOCKS,
  MANAGED_DEFINITIONS,
  PROVIDER_REVISIONS,
  PROVIDER_RUNTIMES,
  PROVIDERS,
  PUBLICATIONS,
  REVISIONS,
  RUNTIME_CONFIGS,
};

/** The kinds that `--enable-resource-composition` enables. */
export const RESOURCE_COMPOSITION_KINDS: readonly Kind<unknown>[] = [
  INFRASTRUCTURE_DEFINITIONS,
  APPLICATION_DEFINITIONS,
  PUBLICATIONS,
];

/** The kind of a definition or a publication. */
export function definitionKindOf({ kind }: { readonly kind?: string | undefined }): ResourceKind {
  return RESOURCE_COMPOSITION_KINDS.find((one) => one.kind === kind) ?? DEFINITIONS;
}

/** Identifies a definition among definitions of all kinds. It is only the name for a CompositeResourceDefinition. */
export function definitionKey(kind: Pick<ResourceKind, "kind">, name: string): string {
  return kind.kind === DEFINITIONS.kind ? name : `${kind.kind}/${name}`;
}

/** The kind and the name of a {@link definitionKey}. */
export function parseDefinitionKey(key: string): { readonly kind: string; readonly name: string } {
  const [name = "", kind = DEFINITIONS.kind] = key.split("/").toReversed();
  return { kind, name };
}

/** The name of the only Lock, as in Crossplane. */
export const LOCK_NAME = "lock";
/** The kinds that `--enable-packages` enables. */
export const PACKAGE_KINDS: readonly Kind<unknown>[] = [
  FUNCTIONS,
  FUNCTION_REVISIONS,
  PROVIDERS,
  PROVIDER_REVISIONS,
  CONFIGURATIONS,
  CONFIGURATION_REVISIONS,
  LOCKS,
  IMAGE_CONFIGS,
  RUNTIME_CONFIGS,
];

/** A kind of Kubernetes. */
function builtIn(apiVersion: string, kind: string, namespaced: boolean): ResourceKind {
  const [version = "", group = ""] = apiVersion.split("/").toReversed();
  return { group, version, kind, plural: `${kind.toLowerCase()}s`, namespaced };
}

export const CRDS: ResourceKind = builtIn("apiextensions.k8s.io/v1", "CustomResourceDefinition", false);
export const CLUSTER_ROLES: ResourceKind = builtIn("rbac.authorization.k8s.io/v1", "ClusterRole", false);
export const CLUSTER_ROLE_BINDINGS: ResourceKind = builtIn("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", false);
export const VALIDATING_WEBHOOKS: ResourceKind = builtIn(
  "admissionregistration.k8s.io/v1",
  "ValidatingWebhookConfiguration",
  false,
);
export const NAMESPACES: ResourceKind = builtIn("v1", "Namespace", false);
export const SECRETS: ResourceKind = builtIn("v1", "Secret", true);
export const SERVICE_ACCOUNTS: ResourceKind = builtIn("v1", "ServiceAccount", true);
export const SERVICES: ResourceKind = builtIn("v1", "Service", true);
export const DEPLOYMENTS: ResourceKind = builtIn("apps/v1", "Deployment", true);

/** Whether a kind is the core kind Secret, in any version. */
export function isSecretKind({ group, kind }: Pick<ResourceKind, "group" | "kind">): boolean {
  return group === SECRETS.group && kind === SECRETS.kind;
}

/** Whether an object is a core Secret. */
export function isSecret({ apiVersion = "", kind = "" }: KubernetesObject): boolean {
  return !apiVersion.includes("/") && kind === SECRETS.kind;
}

/** The `apiVersion` and `kind` of a kind's objects. */
export function typeMeta(kind: ResourceKind): { apiVersion: string; kind: string } {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind };
}

/** @param namespace absent for a cluster-scoped kind */
export function referenceOf(kind: ResourceKind, name: string, namespace?: string): ObjectReference {
  return { ...typeMeta(kind), name, ...(namespace !== undefined && { namespace }) };
}

/** `group/Kind`: identifies a kind in any of its versions. The core group is empty. */
export function groupKind(apiVersion: string, kind: string): string {
  const slash = apiVersion.indexOf("/");
  return `${slash === -1 ? "" : apiVersion.slice(0, slash)}/${kind}`;
}
