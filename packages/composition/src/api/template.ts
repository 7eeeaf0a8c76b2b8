import type { ConnectionDetail, JsonObject, JsonValue, ReadinessCheck } from "@xfn/functionio";
import type { MergeOptions } from "../field-path/merge.ts";

// The patch-and-transform part of the Composition API (seed 004, "Composition"; field names of Crossplane v1.13), in the
// shape in which it is written: what an API server or a file gives is of these types once it has been checked.

/** One composed resource: a base, and what is copied into it from the XR and back. */
export interface ResourceTemplate {
  /** The name of its entry. Seed 004 has none: `parseComposition` then gives `template-<index>`. */
  name?: string;
  /** The object as it is before patches. */
  base: JsonObject;
  /** In order. */
  patches?: Patch[];
  connectionDetails?: ConnectionDetail[];
  readinessChecks?: ReadinessCheck[];
}

/** Patches that several templates share, by name. */
export interface PatchSet {
  name: string;
  /** Any patches but PatchSet. */
  patches: Patch[];
}

/** From where to where a patch copies. */
export type PatchType =
  | "FromCompositeFieldPath"
  | "ToCompositeFieldPath"
  | "CombineFromComposite"
  | "CombineToComposite"
  | "FromEnvironmentFieldPath"
  | "ToEnvironmentFieldPath"
  | "CombineFromEnvironment"
  | "CombineToEnvironment"
  | "PatchSet";

/** One patch. */
export interface Patch {
  /** Default `FromCompositeFieldPath`. */
  type?: PatchType;
  fromFieldPath?: string;
  /** Default: the same as `fromFieldPath`. A Combine needs it. */
  toFieldPath?: string;
  /** For the Combine types. */
  combine?: Combine;
  /** For type PatchSet. */
  patchSetName?: string;
  /** Applied in order to what was read. */
  transforms?: Transform[];
  policy?: PatchPolicy;
}

/** How a patch deals with what is missing, and with what is there already. */
export interface PatchPolicy {
  /** Default `Optional`: where the source has no such field the patch does nothing. */
  fromFieldPath?: "Optional" | "Required";
  /** Absent: the value replaces what is there. */
  mergeOptions?: MergeOptions;
}

/** Several values made one. */
export interface Combine {
  strategy: "string";
  variables: { fromFieldPath: string }[];
  string?: { fmt: string };
}

/** One transform: its type, and the configuration of that type. */
export interface Transform {
  type: "map" | "match" | "math" | "string" | "convert";
  map?: { [key: string]: JsonValue };
  match?: MatchTransform;
  math?: MathTransform;
  string?: StringTransform;
  convert?: ConvertTransform;
}

/** The first pattern that matches gives the result. */
export interface MatchTransform {
  patterns: MatchPattern[];
  /** What there is when nothing matches, with `fallbackTo: Value`. */
  fallbackValue?: JsonValue;
  /** Default `Value`. */
  fallbackTo?: "Value" | "Input";
}

/** A pattern and what it stands for. */
export interface MatchPattern {
  /** Default `literal`. */
  type?: "literal" | "regexp";
  literal?: string;
  regexp?: string;
  result: JsonValue;
}

/** Arithmetic on a number. */
export interface MathTransform {
  /** Default `Multiply`. */
  type?: "Multiply" | "ClampMin" | "ClampMax";
  multiply?: number | bigint;
  clampMin?: number | bigint;
  clampMax?: number | bigint;
}

/** What is done with a string. */
export interface StringTransform {
  /** Default `Format`. */
  type?: "Format" | "Convert" | "TrimPrefix" | "TrimSuffix" | "Regexp" | "Join";
  /** Go's fmt syntax. */
  fmt?: string;
  convert?: "ToUpper" | "ToLower" | "ToBase64" | "FromBase64" | "ToJson" | "ToSha1" | "ToSha256" | "ToSha512";
  trim?: string;
  regexp?: { match: string; group?: number | bigint };
  join?: { separator: string };
}

/** Another type for the same value. */
export interface ConvertTransform {
  toType: "string" | "int" | "int64" | "bool" | "float64" | "object" | "array";
  /** `quantity`: string to float64. `json`: string to object or array. Default `none`. */
  format?: "none" | "quantity" | "json";
}

/** Data beside the XR that templates can read and write (alpha in Crossplane v1.13). */
export interface EnvironmentConfiguration {
  /** Data that is there even without any EnvironmentConfig; those win over it. */
  defaultData?: JsonObject;
  /** Which EnvironmentConfig objects make up the environment, later ones winning. */
  environmentConfigs?: EnvironmentSource[];
  /** Between the XR and the environment, before any template is rendered. */
  patches?: Patch[];
  policy?: { resolution?: "Required" | "Optional"; resolve?: "Always" | "IfNotPresent" };
}

/** One or more EnvironmentConfigs. */
export interface EnvironmentSource {
  /** Default `Reference`. */
  type?: "Reference" | "Selector";
  ref?: { name: string };
  selector?: EnvironmentSelector;
}

/** EnvironmentConfigs by label. */
export interface EnvironmentSelector {
  /** `Single` (the default) wants exactly one match. */
  mode?: "Single" | "Multiple";
  maxMatch?: number | bigint;
  minMatch?: number | bigint;
  /** Default `metadata.name`. */
  sortByFieldPath?: string;
  matchLabels: EnvironmentLabelSelector[];
}

/** One label that must match. */
export interface EnvironmentLabelSelector {
  key: string;
  /** Default `FromCompositeFieldPath`. */
  type?: "FromCompositeFieldPath" | "Value";
  valueFromFieldPath?: string;
  value?: string;
  fromFieldPathPolicy?: "Optional" | "Required";
}
