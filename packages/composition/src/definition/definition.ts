import type { JsonObject, ObjectMeta } from "@xfn/json";
import type { ServiceAccountReference } from "../api/service-account.ts";

/** The API version in which the API server stores a CompositeResourceDefinition. */
export const DEFINITION_API_VERSION = "apiextensions.crossplane.io/v1";

/** The API versions in which authors write definitions. In that of Crossplane 2, XRs are namespaced by default. */
export const DEFINITION_API_VERSIONS: readonly [string, ...string[]] = [
  DEFINITION_API_VERSION,
  "apiextensions.crossplane.io/v2",
];

export const DEFINITION_KIND = "CompositeResourceDefinition";

/** The API version of {@link DEFINITION_FORMS}. */
export const FORM_API_VERSION = "apiextensions.crossplane.io/v1alpha1";

/** The other kinds of definitions, as Crossplane's design "Resource Composition" has them. */
export const DEFINITION_FORMS = ["InfrastructureDefinition", "ApplicationDefinition"] as const;

/** A kind of {@link DEFINITION_FORMS}. */
export type DefinitionForm = (typeof DEFINITION_FORMS)[number];

/** Offers an InfrastructureDefinition's composite resources to namespaces, as requirements. */
export const PUBLICATION_KIND = "InfrastructurePublication";

/**
 * The longest name of a composite resource. Composed resources have it as the value of a label, which has this limit. A
 * CRD's schema cannot limit names, so a separate check does.
 */
export const MAX_COMPOSITE_NAME_LENGTH = 63;

/**
 * The scope of a definition's XRs. `LegacyCluster` is cluster-scoped like `Cluster`, with the fields of Crossplane 1 in
 * the spec. Only such XRs can be claimed, and publish connection details. `LegacyNamespaced` is namespaced with the
 * same fields; only an ApplicationDefinition has it.
 */
export type DefinitionScope = "Namespaced" | "Cluster" | "LegacyCluster" | "LegacyNamespaced";

/**
 * A kind of composite resource, and optionally of claims for it. Definitions of all kinds and API versions are lowered
 * to this model, which has the field names of a CompositeResourceDefinition.
 */
export interface Definition {
  apiVersion: string;
  /** The kind that its author wrote. */
  kind: typeof DEFINITION_KIND | DefinitionForm;
  metadata: ObjectMeta;
  spec: DefinitionSpec;
}

/** `Cluster`: only cluster-scoped kinds. `Any`: namespaced kinds too. */
export type ComposedScope = "Cluster" | "Any";

/** The `spec` of a definition. Defaults are filled in. */
export interface DefinitionSpec {
  group: string;
  /** The names of the composite resources. */
  names: KindNames;
  scope: DefinitionScope;
  /** The names of the claims. Absent if none are offered. */
  claimNames?: KindNames;
  /** The connection details that composite resources expose. If empty, they expose all. */
  connectionSecretKeys: string[];
  /** The default policy of a claim that deletes its composite resource. */
  defaultCompositeDeletePolicy: "Background" | "Foreground";
  /** The default policy of composite resources for new revisions of their Composition. */
  defaultCompositionUpdatePolicy: "Automatic" | "Manual";
  defaultCompositionRef?: { name: string };
  /** The labels of the revisions from which composite resources without a selector choose. */
  defaultCompositionRevisionSelector?: { matchLabels: Record<string, string> };
  /** The Composition of all composite resources. It overrides their own. */
  enforcedCompositionRef?: { name: string };
  /** The scope of the kinds that an InfrastructureDefinition's composite resources compose. Absent: any. */
  composedScope?: ComposedScope;
  /** The service account whose permissions composing uses. Absent: the controller's own permissions. */
  serviceAccountRef?: ServiceAccountReference;
  /** At least one; exactly one is referenceable. */
  versions: DefinitionVersion[];
  /** How an API server converts between versions, as in a CRD. */
  conversion?: JsonObject;
  /** Labels and annotations of the CRDs, in addition to the definition's labels. */
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
}

export interface KindNames {
  kind: string;
  /** Lower case, as in URLs. */
  plural: string;
  singular?: string;
  listKind?: string;
  shortNames: string[];
  categories: string[];
}

export interface DefinitionVersion {
  /** Such as `v1alpha1`. */
  name: string;
  served: boolean;
  /** Compositions are for this version, and objects are stored in it. */
  referenceable: boolean;
  deprecated: boolean;
  deprecationWarning?: string;
  /** The author's schema, without injected fields. */
  schema: { openAPIV3Schema: JsonObject };
  additionalPrinterColumns: JsonObject[];
  /** The subresource `scale`, as in a CRD. */
  subresources?: { scale?: ScaleSubresource };
}

/** The fields that the subresource `scale` reads and writes. */
export interface ScaleSubresource extends JsonObject {
  specReplicasPath: string;
  statusReplicasPath: string;
}
