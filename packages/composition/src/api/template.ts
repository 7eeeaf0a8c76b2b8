import type { ConnectionDetail, ReadinessCheck } from "@xfn/functionio";
import type { JsonObject, JsonValue } from "@xfn/json";
import type { MergeOptions } from "../field-path/merge.ts";

// Patch-and-transform: the types of checked files and of objects from an API server, with the field names of Crossplane
// v1.13. Crossplane's design document "Composition" describes them.

/** A composed resource: a base, and patches between it and the XR. */
export interface ResourceTemplate {
  /** The name of its entry. `parseComposition` fills in the default, `template-<index>`. */
  name?: string;
  /** The object before patches. */
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

/** The source and the target of a patch. */
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

export interface Patch {
  /** Default `FromCompositeFieldPath`. */
  type?: PatchType;
  fromFieldPath?: string;
  /** Default: `fromFieldPath`. Required for the Combine types. */
  toFieldPath?: string;
  /** For the Combine types. */
  combine?: Combine;
  /** For type PatchSet. */
  patchSetName?: string;
  /** Applied in order to the value of the source. */
  transforms?: Transform[];
  policy?: PatchPolicy;
}

/** How a patch treats a missing source and an existing target. */
export interface PatchPolicy {
  /** Default `Optional`: without a source field the patch does nothing. */
  fromFieldPath?: "Optional" | "Required";
  /** Default: the value replaces the target. */
  mergeOptions?: MergeOptions;
}

/** Combines several values into one string. */
export interface Combine {
  strategy: "string";
  variables: { fromFieldPath: string }[];
  string?: { fmt: string };
}

/** A transform: its type, and the configuration of that type. */
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
  /** The result if no pattern matches, with `fallbackTo: Value`. */
  fallbackValue?: JsonValue;
  /** Default `Value`. */
  fallbackTo?: "Value" | "Input";
}

/** A pattern and its result. */
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

/** An operation on a string. */
export interface StringTransform {
  /** Default `Format`. */
  type?: "Format" | "Convert" | "TrimPrefix" | "TrimSuffix" | "Regexp" | "Join" | "Replace";
  /** A format in the syntax of Go's package fmt. */
  fmt?: string;
  convert?: "ToUpper" | "ToLower" | "ToBase64" | "FromBase64" | "ToJson" | "ToSha1" | "ToSha256" | "ToSha512";
  trim?: string;
  regexp?: { match: string; group?: number | bigint };
  join?: { separator: string };
  /** Every `search` becomes `replace`. */
  replace?: { search: string; replace?: string };
}

/** A conversion to another type. */
export interface ConvertTransform {
  toType: "string" | "int" | "int64" | "bool" | "float64" | "object" | "array";
  /** `quantity`: string to float64. `json`: string to object or array. Default `none`. */
  format?: "none" | "quantity" | "json";
}

/** Data that templates can read and write in addition to the XR (alpha in Crossplane v1.13). */
export interface EnvironmentConfiguration {
  /** The initial data. EnvironmentConfigs are merged over it. */
  defaultData?: JsonObject;
  /** The EnvironmentConfigs to merge, in order. Later ones win. */
  environmentConfigs?: EnvironmentSource[];
  /** Patches between the XR and the environment. They run before the templates. */
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
  /** Default `Single`: at most one match. */
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
