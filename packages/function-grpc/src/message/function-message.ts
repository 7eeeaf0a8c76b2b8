import type { JsonObject } from "@xfn/json";

/** A Kubernetes object and what a function knows of it. */
export interface ResourceState {
  readonly resource: JsonObject;
  readonly connectionDetails?: ReadonlyMap<string, Uint8Array>;
  /** Whether a function considers the resource ready. Absent: it does not say. */
  readonly ready?: boolean;
}

/** The composite resource and its composed resources, by name. */
export interface State {
  readonly composite?: ResourceState;
  readonly resources: ReadonlyMap<string, ResourceState>;
}

/** What a function receives. */
export interface FunctionRequest {
  readonly observed: State;
  readonly desired: State;
  readonly input?: JsonObject | undefined;
  readonly context?: JsonObject | undefined;
  /** Data of Secrets, by the names in the pipeline step. */
  readonly credentials?: ReadonlyMap<string, ReadonlyMap<string, Uint8Array>>;
  /** By the names in {@link Requirements.extraResources}. Empty for what does not exist. */
  readonly extraResources?: ReadonlyMap<string, readonly ResourceState[]>;
  /** By the names in {@link Requirements.resources}. Empty for what does not exist. */
  readonly requiredResources?: ReadonlyMap<string, readonly ResourceState[]>;
  /** OpenAPI v3 schemas by the names in {@link Requirements.schemas}; undefined for a kind without one. */
  readonly requiredSchemas?: ReadonlyMap<string, JsonObject | undefined>;
}

/** Selects resources of one kind: by name or by labels. */
export interface ResourceSelector {
  readonly apiVersion: string;
  readonly kind: string;
  readonly match: { readonly name: string } | { readonly labels: ReadonlyMap<string, string> };
  /** Absent: cluster-scoped resources, or those of all namespaces. */
  readonly namespace?: string;
}

/** Selects the schema of one kind. */
export interface SchemaSelector {
  readonly apiVersion: string;
  readonly kind: string;
}

/** What a function needs to see before it is run again. */
export interface Requirements {
  /** The same as {@link resources}, as functions built for Crossplane 1.x ask for them. */
  readonly extraResources: ReadonlyMap<string, ResourceSelector>;
  readonly resources: ReadonlyMap<string, ResourceSelector>;
  readonly schemas: ReadonlyMap<string, SchemaSelector>;
}

/** No requirements. */
export const NO_REQUIREMENTS: Requirements = { extraResources: new Map(), resources: new Map(), schemas: new Map() };

/** Which objects show a result or a condition. */
export type Target = "Composite" | "CompositeAndClaim";

/** A message of a function. */
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

/** What a function returns. */
export interface FunctionResponse {
  /** Complete: it replaces the desired state of the request. */
  readonly desired: State;
  readonly results: readonly FunctionResult[];
  readonly conditions: readonly FunctionCondition[];
  /** Replaces the context of the request. */
  readonly context?: JsonObject | undefined;
  readonly requirements: Requirements;
  /** Milliseconds for which the response may be used again. */
  readonly ttlMs?: number;
}
