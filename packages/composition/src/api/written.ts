import type { JsonObject, JsonValue } from "@xfn/json";
import type {
  CompositionFunction,
  CompositionSpec,
  FunctionForm,
  ImagePullSecret,
  NetworkPolicy,
  PullPolicy,
  RequiredResource,
  RequiredSchema,
  StepCredential,
  StepSettings,
  TypeReference,
} from "./composition.ts";
import type { ServiceAccountReference } from "./service-account.ts";
import type { EnvironmentConfiguration, PatchSet, ResourceTemplate } from "./template.ts";

// The spec of a Composition as its author writes it, in any of the accepted spellings. Null counts as absent.

/** The `spec` of a file that has been checked. */
export interface WrittenSpec {
  compositeTypeRef?: TypeReference;
  /** The name of the field above in an early draft of Crossplane's design. */
  from?: TypeReference;
  mode?: "Resources" | "Pipeline";
  resources?: ResourceTemplate[];
  /** The name of the field above in an early draft of Crossplane's design. */
  to?: ResourceTemplate[];
  patchSets?: PatchSet[];
  environment?: EnvironmentConfiguration;
  functions?: WrittenFunction[];
  pipeline?: WrittenStep[];
  undesiredResources?: CompositionSpec["undesiredResources"];
  writeConnectionSecretsToNamespace?: string;
  /** Known to Crossplane, without effect here. */
  publishConnectionDetailsWithStoreConfigRef?: { name: string };
  rollout?: WrittenRollout;
  serviceAccountRef?: ServiceAccountReference;
}

/** How a new revision reaches the XRs. */
export interface WrittenRollout {
  shadow?: { composites: number };
  canary: { percent?: number; matchLabels?: { [label: string]: string } };
  /** The duration is in Go's syntax. */
  analysis?: { duration?: string; maxFailures?: number };
}

/** The settings that steps of all kinds share. */
export interface WrittenSettings {
  /** In Go's syntax. */
  timeout?: string;
  retries?: number | bigint;
  /** A CEL expression. */
  when?: string;
  schema?: StepSettings["schema"];
}

export interface WrittenFunction extends WrittenSettings, WrittenTarget {
  name: string;
  type: CompositionFunction["type"];
  config?: JsonObject;
  io?: FunctionForm;
  cache?: WrittenCache;
}

/** The targets of functions. A function has one of these fields, by its type. */
export interface WrittenTarget {
  container?: WrittenContainer;
  webhook?: WrittenWebhook;
  wasm?: WrittenWasm;
}

/** The WebAssembly module of a function. */
export interface WrittenWasm
  extends Pick<WrittenContainer, "image" | "imagePullPolicy" | "imagePullSecrets" | "timeout" | "runner"> {
  resources?: { limits?: { memory?: WrittenQuantity } };
}

/** The time for which an output may be used again. */
export interface WrittenCache {
  /** In Go's syntax. */
  ttl: string;
}

/** The HTTPS server of a function. */
export interface WrittenWebhook {
  url?: string;
  service?: { namespace: string; name: string; path?: string; port?: number | bigint };
  /** PEM certificates in base64. */
  caBundle?: string;
  credentials?: { secretRef: { namespace: string; name: string } };
  /** In Go's syntax. */
  timeout?: string;
}

/** The container of a function. */
export interface WrittenContainer {
  image: string;
  imagePullPolicy?: PullPolicy;
  imagePullSecrets?: ImagePullSecret[];
  /** In Go's syntax. */
  timeout?: string;
  /** As Crossplane's design has it, or as Crossplane v1.13 does: `{policy: Runner}`. */
  network?: NetworkPolicy | { policy?: NetworkPolicy | "Runner" };
  resources?: {
    limits?: { memory?: WrittenQuantity; cpu?: WrittenQuantity };
    requests?: { [resource: string]: JsonValue };
  };
  runner?: { endpoint?: string };
}

/** YAML reads `cpu: 1` as a number, which Kubernetes accepts for a quantity. */
export type WrittenQuantity = string | number | bigint;

/** A step of `mode: Pipeline`: a function package, or a FunctionIO function. */
export interface WrittenStep extends WrittenSettings, WrittenTarget, WrittenPackageStep {
  /** The type of a FunctionIO function. */
  type?: CompositionFunction["type"];
  /** The config of a FunctionIO function. */
  config?: JsonObject;
  /** For a function with a config. */
  io?: FunctionForm;
  /** For a FunctionIO function. */
  cache?: WrittenCache;
}

/** The fields of a step that calls a function package. */
export interface WrittenPackageStep {
  step: string;
  /** The function package. */
  functionRef?: { name?: string; package?: string };
  input?: JsonObject;
  credentials?: WrittenCredential[];
  requirements?: { requiredResources?: RequiredResource[]; requiredSchemas?: RequiredSchema[] };
}

/** Credentials of a step. */
export interface WrittenCredential {
  name: string;
  source: "None" | "Secret";
  secretRef?: StepCredential["secretRef"];
}
