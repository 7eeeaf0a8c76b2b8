import type { JsonObject, KubernetesObject, ObjectMeta } from "@xfn/json";
import type { ServiceAccountReference } from "./service-account.ts";
import type { EnvironmentConfiguration, PatchSet, ResourceTemplate } from "./template.ts";

/** The API versions in which a Composition may be written; one schema serves them all. */
export const COMPOSITION_API_VERSIONS: readonly string[] = [
  "apiextensions.crossplane.io/v1",
  "apiextensions.crossplane.io/v1alpha1",
  "apiextensions.crossplane.io/v2alpha1",
];

/**
 * A Composition, with the field names of Crossplane v1.13's API. `parseComposition` returns one form for all accepted
 * spellings. The functions are those of Crossplane's design document "Composition Functions".
 */
export interface Composition {
  /** One of {@link COMPOSITION_API_VERSIONS}. */
  apiVersion: string;
  kind: "Composition";
  metadata: ObjectMeta;
  spec: CompositionSpec;
}

/** The `spec` of a Composition. */
export interface CompositionSpec {
  /** The kind of XR that this Composition is for. Crossplane's design "Composition" calls the field `from`. */
  compositeTypeRef: TypeReference;
  /** With `Pipeline`, only the steps of {@link pipeline} compose. The default, `Resources`: templates and functions. */
  mode?: "Resources" | "Pipeline";
  /**
   * The templates of composed resources, in order. Names are unique. Crossplane's design "Composition" calls the field
   * `to`.
   */
  resources: NamedTemplate[];
  /** The field of the templates if it is not `resources`. Messages use it in paths. */
  resourcesField?: "to";
  /** Patches that templates share. */
  patchSets: PatchSet[];
  /** Data that templates read and write in addition to the XR. */
  environment?: EnvironmentConfiguration;
  /** The functions, in order. They see the output of the templates. Names are unique. */
  functions: CompositionFunction[];
  /** The steps of `mode: Pipeline`, in order. Names are unique. */
  pipeline?: Step[];
  /**
   * The fate of observed resources that no step desires: `Keep`, the default, retains them. `Delete` deletes them, as
   * Crossplane v1.13 did.
   */
  undesiredResources: "Keep" | "Delete";
  /** The namespace of the XRs' connection secrets. */
  writeConnectionSecretsToNamespace?: string;
  /** How a new revision reaches the XRs. Absent: all at once. */
  rollout?: Rollout;
  /** The service account whose permissions the Composition uses. Absent: the permissions that its XRs have. */
  serviceAccountRef?: ServiceAccountReference;
}

/** A rollout: first in shadow, then to a canary, then to all XRs. */
export interface Rollout {
  /** The number of XRs that the revision composes without effect; 0 for none. */
  shadowComposites: number;
  /** The XRs that get the revision first: a part of all in percent, or those with all of these labels. */
  canary:
    | { percent: number; matchLabels?: undefined }
    | { matchLabels: { [label: string]: string }; percent?: undefined };
  /** The time for which the canary is watched, in milliseconds. */
  durationMs: number;
  /** The number of XRs that may fail. */
  maxFailures: number;
}

/** An exact kind: API version and kind. */
export interface TypeReference {
  apiVersion: string;
  kind: string;
}

/** A template with its name, by default `template-<index>`. */
export interface NamedTemplate extends ResourceTemplate {
  name: string;
}

/**
 * A step, by its `type`: a function package of Crossplane v1.14 and later, or a FunctionIO function. Programs ask
 * `traitsOf` for the properties in which types differ.
 */
export type Step = PackageStep | ContainerStep | WebhookStep;

/** The settings that steps of all kinds share. */
export interface StepSettings {
  /**
   * Milliseconds that the step may take: pulls, starts, retries and the call together. The wait for earlier steps does
   * not count. Absent: only the function's own timeout.
   */
  timeoutMs?: number;
  /** The number of retries while the function cannot have started. Absent: 0. */
  retries?: number;
  /** The guard, a CEL expression: the step is skipped if it is false (see `compileGuard`). Absent: the step runs. */
  when?: string;
  /** `Strict`: the objects that the step desires must match the known schemas of their kinds. */
  schema?: "Strict";
}

/** A step that calls a function package, which is a gRPC server. */
export interface PackageStep extends StepSettings {
  type: "Package";
  /** The step's name, unique in its Composition. */
  name: string;
  /** The Function object to call, or the package to run. */
  functionRef: FunctionReference;
  /** The input of the function. */
  input?: JsonObject;
  /** Secrets whose data the function receives. Names are unique. */
  credentials: StepCredential[];
  /** The resources and schemas that the function receives with its first call. */
  requirements: StepRequirements;
}

/** The name of a Function object, or a package by its full image reference. */
export type FunctionReference =
  | { readonly name: string; readonly package?: undefined }
  | { readonly package: string; readonly name?: undefined };

/** A Secret whose data a function receives. */
export interface StepCredential {
  /** The name by which the function knows it. */
  name: string;
  secretRef: { namespace: string; name: string };
}

/** Resources and schemas by the names by which the function knows them. */
export interface StepRequirements {
  resources: RequiredResource[];
  schemas: RequiredSchema[];
}

/** Selects resources of one kind: one by name, some by labels, or all. */
export interface RequiredResource extends RequiredSchema {
  namespace?: string;
  name?: string;
  matchLabels?: { [label: string]: string };
}

/** Selects the OpenAPI schema of a kind. */
export interface RequiredSchema extends TypeReference {
  requirementName: string;
}

/** A function that reads a FunctionIO and returns one. The `type` selects the way to call it. */
export type CompositionFunction = ContainerStep | WebhookStep;

/** The fields that functions of all types share. */
export interface FunctionStep extends StepSettings {
  /** The step's name, unique in its Composition. */
  name: string;
  /** The `config` in the FunctionIO of the function. */
  config?: JsonObject;
  /** The form of the function's input and output. Default `FunctionIO`. */
  io?: FunctionForm;
}

/**
 * The form of a function's input and output: a FunctionIO, the ResourceList of an early draft of Crossplane's design,
 * or the ResourceList of the KRM functions specification.
 */
export type FunctionForm = "FunctionIO" | "ResourceList" | "KRM";

/** A function that is an OCI image. It runs in a container or a chroot, or is a WebAssembly module. */
export interface ContainerStep extends FunctionStep {
  /** `Chroot` does not isolate the function: it has the runner's network and no limits. */
  type: "Container" | "Wasm" | "Chroot";
  /** The controller uses an output again for the same input. Absent: each run calls the function. */
  cache?: OutputCache;
  container: ContainerFunction;
}

/** A function that is an HTTPS server. */
export interface WebhookStep extends FunctionStep {
  type: "Webhook";
  webhook: WebhookFunction;
}

/** The time for which an output may be used again. */
export interface OutputCache {
  /** Milliseconds, above zero, at most a day. */
  ttlMs: number;
}

/** When the runner pulls an image. */
export type PullPolicy = "IfNotPresent" | "Always" | "Never";

/** The network of a function: none, or that of its runner. */
export type NetworkPolicy = "Isolated" | "Accessible";

/** A function's image, and the options of its container. */
export interface ContainerFunction {
  /** The OCI image, as the author wrote it. */
  image: string;
  /** Default `IfNotPresent`. */
  imagePullPolicy?: PullPolicy;
  /** Secrets with credentials for the image's registry. */
  imagePullSecrets: ImagePullSecret[];
  /**
   * The runner kills the function after this many milliseconds, at most {@link MAX_TIMEOUT_MS}. Default: the timeout of
   * the step, otherwise 10 s.
   */
  timeoutMs?: number;
  /** Default `Isolated`. Crossplane v1.13's `network: {policy: Runner}` becomes `Accessible`. */
  network: NetworkPolicy;
  resources: ContainerFunctionResources;
  runner: ContainerFunctionRunner;
}

/** The HTTPS server of a function. */
export interface WebhookFunction {
  /** The URL that receives the FunctionIO as a POST request. The URL of a Service is that of its cluster DNS name. */
  url: string;
  /** PEM certificates of the authorities that sign the server's certificate. Default: those of the system. */
  caBundle?: string;
  /** The Secret whose key `token` is sent as a bearer token. */
  credentials?: { secretRef: { namespace: string; name: string } };
  /**
   * The function must have answered after this many milliseconds, at most {@link MAX_TIMEOUT_MS}. Default: the timeout
   * of the step, otherwise 10 s.
   */
  timeoutMs?: number;
}

/** A reference to a Secret. */
export interface ImagePullSecret {
  name: string;
  namespace?: string;
}

/** The resources that a function can use: limits, no requests. */
export interface ContainerFunctionResources {
  limits: {
    /** Bytes, above zero. */
    memoryBytes?: number;
    /** Cores, such as 0.25, above zero. */
    cpus?: number;
  };
}

export interface ContainerFunctionRunner {
  /** A gRPC target such as `unix:///@crossplane/fn/default.sock`. */
  endpoint?: string;
}

/** The longest delay of a timer in milliseconds, almost 25 days. A timer with a longer delay fires at once. */
export const MAX_TIMEOUT_MS: number = 2 ** 31 - 1;

/** Whether a Composition is for an XR's exact API version and kind. */
export function isCompatible(composition: Composition, composite: KubernetesObject): boolean {
  const { apiVersion, kind } = composition.spec.compositeTypeRef;
  return composite.apiVersion === apiVersion && composite.kind === kind;
}
