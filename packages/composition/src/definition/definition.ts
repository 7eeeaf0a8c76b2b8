import type { JsonObject, ObjectMeta } from "@xfn/functionio";

/** The API version in which a CompositeResourceDefinition is written. */
export const DEFINITION_API_VERSION = "apiextensions.crossplane.io/v1";

/** The kind of a definition. */
export const DEFINITION_KIND = "CompositeResourceDefinition";

/**
 * The longest name of a composite resource. Composed resources carry it as the value of a label, which holds no more; the
 * CRD cannot say so, an API server not allowing it there, so it is checked beside the schema.
 */
export const MAX_COMPOSITE_NAME_LENGTH = 63;

/** A new kind of composite resource, and perhaps one of claims for it (seed 004; field names of Crossplane v1.13). */
export interface Definition {
  apiVersion: string;
  kind: "CompositeResourceDefinition";
  metadata: ObjectMeta;
  spec: DefinitionSpec;
}

/** The `spec` of a definition. What has a default has a value. */
export interface DefinitionSpec {
  group: string;
  /** Of the composite resources. */
  names: KindNames;
  /** Of the claims; absent if none are offered. */
  claimNames?: KindNames;
  /** The connection details that composite resources expose; empty: all that their resources have. */
  connectionSecretKeys: string[];
  /** How a claim deletes its composite resource, unless it says otherwise. */
  defaultCompositeDeletePolicy: "Background" | "Foreground";
  /** Whether composite resources follow new revisions of their composition, unless they say otherwise. */
  defaultCompositionUpdatePolicy: "Automatic" | "Manual";
  /** The composition of composite resources that name none. */
  defaultCompositionRef?: { name: string };
  /** The composition of all composite resources, whatever they name. */
  enforcedCompositionRef?: { name: string };
  /** At least one; exactly one is referenceable. */
  versions: DefinitionVersion[];
  /** How an API server converts between versions, as in a CRD. */
  conversion?: JsonObject;
  /** What the CRDs get besides the definition's own labels. */
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
}

/** What a kind is called. */
export interface KindNames {
  kind: string;
  /** Lower case, as in URLs. */
  plural: string;
  singular?: string;
  listKind?: string;
  shortNames: string[];
  categories: string[];
}

/** One version of a definition. */
export interface DefinitionVersion {
  /** Such as `v1alpha1`. */
  name: string;
  served: boolean;
  /** The version that compositions are written for, and in which objects are stored. */
  referenceable: boolean;
  deprecated: boolean;
  deprecationWarning?: string;
  /** The author's schema, without the fields that the machinery adds. */
  schema: { openAPIV3Schema: JsonObject };
  additionalPrinterColumns: JsonObject[];
}
