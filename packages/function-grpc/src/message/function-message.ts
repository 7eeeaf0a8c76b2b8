import type { JsonObject } from "@xfn/json";

/** A Kubernetes object with its connection details and readiness. */
export interface ResourceState {
  readonly resource: JsonObject;
  readonly connectionDetails?: ReadonlyMap<string, Uint8Array>;
  /** Whether a function considers the resource ready. Absent: unknown. */
  readonly ready?: boolean;
}

/** The composite resource and its composed resources, by name. */
export interface State {
  readonly composite?: ResourceState;
  readonly resources: ReadonlyMap<string, ResourceState>;
}

export interface FunctionRequest {
  readonly observed: State;
  readonly desired: State;
  readonly input?: JsonObject | undefined;
  readonly context?: JsonObject | undefined;
  /** Data of Secrets, by the names in the pipeline step. */
  readonly credentials?: ReadonlyMap<string, ReadonlyMap<string, Uint8Array>>;
  /** By the names in {@link Requirements.extraResources}. Empty for resources that do not exist. */
  readonly extraResources?: ReadonlyMap<string, readonly ResourceState[]>;
  /** By the names in {@link Requirements.resources}. Empty for resources that do not exist. */
  readonly requiredResources?: ReadonlyMap<string, readonly ResourceState[]>;
  /** OpenAPI v3 schemas by the names in {@link Requirements.schemas}; undefined for a kind without one. */
  readonly requiredSchemas?: ReadonlyMap<string, JsonObject | undefined>;
}

/** Selects resources of one kind: by name or by labels. */
export interface ResourceSelector {
  readonly apiVersion: string;
  readonly kind: string;
  readonly match: { readonly name: string } | { readonly labels: ReadonlyMap<string, string> };
  /** Absent: cluster-scoped resources, or resources of all namespaces. */
  readonly namespace?: string;
}

/** Selects the schema of one kind. */
export interface SchemaSelector {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The resources and schemas that a function needs before its next run. */
export interface Requirements {
  /** The same as {@link resources}, for functions built for Crossplane 1.x. */
  readonly extraResources: ReadonlyMap<string, ResourceSelector>;
  readonly resources: ReadonlyMap<string, ResourceSelector>;
  readonly schemas: ReadonlyMap<string, SchemaSelector>;
}

export const NO_REQUIREMENTS: Requirements = { extraResources: new Map(), resources: new Map(), schemas: new Map() };

/** The objects that show a result or a condition. */
export type Target = "Composite" | "CompositeAndClaim";

/** A message from a function to the user. */
export interface FunctionResult {
  readonly severity: "Fatal" | "Warning" | "Normal";
  readonly message: string;
  readonly reason?: string;
  readonly target: Target;
}

/** A condition that a function sets on the composite resource. */
export interface FunctionCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message?: string;
  readonly target: Target;
}

export interface FunctionResponse {
  /** The complete desired state, which replaces that of the request. */
  readonly desired: State;
  readonly results: readonly FunctionResult[];
  readonly conditions: readonly FunctionCondition[];
  /** Replaces the context of the request. */
  readonly context?: JsonObject | undefined;
  readonly requirements: Requirements;
  /** The output of a step of an Operation, for its status. */
  readonly output?: JsonObject | undefined;
  /** Milliseconds for which the response may be reused. */
  readonly ttlMs?: number;
}
