import type { JsonObject, KubernetesObject } from "@xfn/json";

/** The `apiVersion` of FunctionIO. */
export const API_VERSION = "apiextensions.crossplane.io/v1alpha1" as const;
/** The `kind` of FunctionIO. */
export const KIND = "FunctionIO" as const;

// Intersections, because an interface with optional fields that extends JsonObject compiles only with
// exactOptionalPropertyTypes, which a function's own settings need not have.

/**
 * The input and output of a function (Crossplane design document "Composition Functions", Function API). Unknown fields
 * survive.
 */
export type FunctionIO = JsonObject & {
  apiVersion: typeof API_VERSION;
  kind: typeof KIND;
  /** The function's configuration from its Composition. Functions need not return it. */
  config?: JsonObject;
  /** Data that the steps of `mode: Pipeline` share. A function that leaves it out keeps it. */
  context?: JsonObject;
  /** The state at the start of the run, read-only. `{}` if a function left it out. */
  observed: Observed;
  /** The desired state, accumulated over the steps: an overlay on `observed`. */
  desired?: Desired;
  /** The results of the steps so far. */
  results?: Result[];
};

/** The observed XR and composed resources. */
export type Observed = JsonObject & {
  composite?: ObservedComposite;
  resources?: ObservedResource[];
};

/** The observed XR. */
export type ObservedComposite = JsonObject & {
  resource?: KubernetesObject;
  connectionDetails?: ExplicitConnectionDetail[];
};

/** An observed composed resource; `name` is its entry name, not its `metadata.name`. */
export type ObservedResource = JsonObject & {
  name: string;
  resource: KubernetesObject;
  connectionDetails?: ExplicitConnectionDetail[];
};

/** The accumulated desired state. */
export type Desired = JsonObject & {
  /** If absent, the XR stays as it is. */
  composite?: DesiredComposite;
  resources?: DesiredResource[];
};

/** The desired state of the XR. */
export type DesiredComposite = JsonObject & {
  resource?: KubernetesObject;
  connectionDetails?: ExplicitConnectionDetail[];
};

/** The desired state of a composed resource: an object to apply, or null to delete it. */
export type DesiredResource = JsonObject & {
  name: string;
  resource: KubernetesObject | null;
  connectionDetails?: ConnectionDetail[];
  /** Default: the `Ready` condition. */
  readinessChecks?: ReadinessCheck[];
};

/** A connection detail with its value. */
export type ExplicitConnectionDetail = JsonObject & {
  name: string;
  value: string;
};

/** The source of a composed resource's connection detail. */
export type ConnectionDetailType = "FromConnectionSecretKey" | "FromFieldPath" | "FromValue";

/** A connection detail to derive from a composed resource. */
export type ConnectionDetail = JsonObject & {
  /** Default: the secret key. */
  name?: string;
  /** Default: inferred from the field that is set. */
  type?: ConnectionDetailType;
  fromConnectionSecretKey?: string;
  fromFieldPath?: string;
  value?: string;
};

/** The kinds of readiness check. */
export type ReadinessCheckType =
  | "NonEmpty"
  | "MatchString"
  | "MatchInteger"
  | "MatchTrue"
  | "MatchFalse"
  | "MatchCondition"
  | "None";

/** When a composed resource is ready. */
export type ReadinessCheck = JsonObject & {
  type: ReadinessCheckType;
  /** For all types but MatchCondition and None. */
  fieldPath?: string;
  /** For MatchString. */
  matchString?: string;
  /** For MatchInteger. */
  matchInteger?: number | bigint;
  /** For MatchCondition. */
  matchCondition?: { type: string; status: string };
};

/** The severity of a result, with aliases and unknown words resolved (`severityOf`). */
export type Severity = "Fatal" | "Warning" | "Normal";

/** A result of a step. */
export type Result = JsonObject & {
  /** `Fatal` (alias `Error`), `Warning` or `Normal`. Any other word means Warning. */
  severity: string;
  message: string;
};

/** The severity of a result: `Error` means Fatal, and an unknown word means Warning. */
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
