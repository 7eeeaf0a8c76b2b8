import type { JsonObject } from "../json/json-value.ts";

/** The `apiVersion` of FunctionIO (seed 000). */
export const API_VERSION = "apiextensions.crossplane.io/v1alpha1" as const;
/** The `kind` of FunctionIO. */
export const KIND = "FunctionIO" as const;

/** The part of Kubernetes' object metadata that this project reads; other fields survive. */
export interface ObjectMeta extends JsonObject {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  labels?: { [key: string]: string };
  annotations?: { [key: string]: string };
}

/** A Kubernetes object of any kind. */
export interface KubernetesObject extends JsonObject {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
}

/** What one function is given on stdin and returns on stdout (seed 000, "Function API"). Unknown fields survive. */
export interface FunctionIO extends JsonObject {
  apiVersion: typeof API_VERSION;
  kind: typeof KIND;
  /** The function's configuration, from its Composition. Need not be returned. */
  config?: JsonObject;
  /** The state as of the start of the run: read-only. `{}` when a function left it out. */
  observed: Observed;
  /** The desired state, accumulated over the steps: an overlay on `observed`. */
  desired?: Desired;
  /** What the steps so far have to say. */
  results?: Result[];
}

/** The observed XR and composed resources. */
export interface Observed extends JsonObject {
  composite?: ObservedComposite;
  resources?: ObservedResource[];
}

/** The observed XR. */
export interface ObservedComposite extends JsonObject {
  resource?: KubernetesObject;
  connectionDetails?: ExplicitConnectionDetail[];
}

/** An observed composed resource; `name` is its entry name, not its `metadata.name`. */
export interface ObservedResource extends JsonObject {
  name: string;
  resource: KubernetesObject;
  connectionDetails?: ExplicitConnectionDetail[];
}

/** The accumulated desired state. */
export interface Desired extends JsonObject {
  /** Absent: the XR is left as it is. */
  composite?: DesiredComposite;
  resources?: DesiredResource[];
}

/** What is desired of the XR. */
export interface DesiredComposite extends JsonObject {
  resource?: KubernetesObject;
  connectionDetails?: ExplicitConnectionDetail[];
}

/** What is desired of a composed resource: an object to apply, or null to delete it. */
export interface DesiredResource extends JsonObject {
  name: string;
  resource: KubernetesObject | null;
  connectionDetails?: ConnectionDetail[];
  /** None given means: the `Ready` condition. */
  readinessChecks?: ReadinessCheck[];
}

/** A connection detail with its value. */
export interface ExplicitConnectionDetail extends JsonObject {
  name: string;
  value: string;
}

/** Where a composed resource's connection detail comes from. */
export type ConnectionDetailType = "FromConnectionSecretKey" | "FromFieldPath" | "FromValue";

/** A connection detail to derive from a composed resource. */
export interface ConnectionDetail extends JsonObject {
  /** Defaults to the secret key. */
  name?: string;
  /** Inferred from the field that is set. */
  type?: ConnectionDetailType;
  fromConnectionSecretKey?: string;
  fromFieldPath?: string;
  value?: string;
}

/** The kinds of readiness check. */
export type ReadinessCheckType =
  | "NonEmpty"
  | "MatchString"
  | "MatchInteger"
  | "MatchTrue"
  | "MatchFalse"
  | "MatchCondition"
  | "None";

/** When a composed resource counts as ready. */
export interface ReadinessCheck extends JsonObject {
  type: ReadinessCheckType;
  /** For all types but MatchCondition and None. */
  fieldPath?: string;
  /** For MatchString. */
  matchString?: string;
  /** For MatchInteger. */
  matchInteger?: number | bigint;
  /** For MatchCondition. */
  matchCondition?: { type: string; status: string };
}

/** How severe a result is, once aliases and unknown words are resolved (`severityOf`). */
export type Severity = "Fatal" | "Warning" | "Normal";

/** Something that a step has to say. */
export interface Result extends JsonObject {
  /** `Fatal` (alias `Error`), `Warning` or `Normal`; anything else counts as a Warning. */
  severity: string;
  message: string;
}

/** The severity of a result: `Error` is Fatal, and an unknown word is a Warning. */
export function severityOf(result: Result): Severity {
  switch (result.severity) {
    case "Fatal":
    case "Error":
      return "Fatal";
    case "Normal":
      return "Normal";
    default:
      return "Warning";
  }
}
