import type { JsonObject, KubernetesObject } from "@xfn/json";

/** The objects that show a result or a condition: the XR, or its claim too. */
export type Target = "Composite" | "CompositeAndClaim";

/** A condition that a function sets on the XR. */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  /** One word in CamelCase. */
  readonly reason: string;
  readonly message?: string | undefined;
  /** Default: `Composite`. */
  readonly target?: Target | undefined;
}

/** Selects resources of one kind: those with a name, or those with labels. */
export type ResourceSelector<ApiVersion extends string = string, Kind extends string = string> = {
  readonly apiVersion: ApiVersion;
  readonly kind: Kind;
  /** Default: cluster-scoped resources, or those of all namespaces. */
  readonly namespace?: string | undefined;
} & (
  | { readonly matchName: string; readonly matchLabels?: never }
  | { readonly matchLabels: { readonly [label: string]: string }; readonly matchName?: never }
);

/** Selects the schema of a kind. */
export interface SchemaSelector {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Resources and schemas that a function requires, by names of its choice. */
export interface Requirements {
  readonly resources: ReadonlyMap<string, ResourceSelector>;
  readonly schemas: ReadonlyMap<string, SchemaSelector>;
}

/** Parts of a response over gRPC that a FunctionIO does not have. */
export interface PipelineResponse {
  readonly conditions: readonly Condition[];
  readonly requirements: Requirements;
  /** The output of a step of an Operation. */
  readonly output?: JsonObject | undefined;
}

/**
 * Parts of a run over gRPC that a FunctionIO does not have. The server of a function makes one for each run; a
 * container that reads a FunctionIO has none.
 */
export interface PipelineRun {
  /** Data of Secrets, by the names of the step's credentials. */
  readonly credentials: ReadonlyMap<string, ReadonlyMap<string, Uint8Array>>;
  /** The resources that were required, by name. A name without an entry was not read yet. */
  readonly resources: ReadonlyMap<string, readonly KubernetesObject[]>;
  /** The OpenAPI v3 schemas that were required, by name; null for a kind without one. */
  readonly schemas: ReadonlyMap<string, JsonObject | null>;
  /** Called once, before the function returns. */
  respond(response: PipelineResponse): void;
}
