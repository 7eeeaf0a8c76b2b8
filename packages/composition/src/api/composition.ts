import type { JsonObject, KubernetesObject, ObjectMeta } from "@xfn/functionio";
import type { EnvironmentConfiguration, PatchSet, ResourceTemplate } from "./template.ts";

/** The API versions in which a Composition may be written; one schema serves them all. */
export const COMPOSITION_API_VERSIONS: readonly string[] = [
  "apiextensions.crossplane.io/v1",
  "apiextensions.crossplane.io/v1alpha1",
  "apiextensions.crossplane.io/v2alpha1",
];

/**
 * How a composite resource is composed (seed 000, "Overview"; field names of Crossplane v1.13's API). What
 * `parseComposition` returns is checked and in one form, whichever of the accepted spellings the author used.
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
  /** The kind of XR that this Composition is for. Seed 004 writes `from`. */
  compositeTypeRef: TypeReference;
  /** `Pipeline`: {@link pipeline} composes, and nothing else. Absent: `Resources`, that is templates and functions. */
  mode?: "Resources" | "Pipeline";
  /** The templates of composed resources, in order. Names are unique. Seed 004 writes `to`. */
  resources: NamedTemplate[];
  /** What the author wrote the templates under, where that is not `resources`; for messages that name their place. */
  resourcesField?: "to";
  /** Patches that templates share. */
  patchSets: PatchSet[];
  /** Data beside the XR for templates to read and write. */
  environment?: EnvironmentConfiguration;
  /** The functions, in order. They see what the templates made. Names are unique. */
  functions: CompositionFunction[];
  /** The steps of `mode: Pipeline`, in order. Names are unique. */
  pipeline?: PipelineStep[];
  /**
   * What becomes of observed resources that nothing desires: `Keep` (the default) leaves them alone, `Delete` deletes
   * them, as Crossplane v1.13 did.
   */
  undesiredResources: "Keep" | "Delete";
  /** The namespace of the XRs' connection secrets. */
  writeConnectionSecretsToNamespace?: string;
}

/** An exact kind: API version and kind. */
export interface TypeReference {
  apiVersion: string;
  kind: string;
}

/** A template with its name; one that its author did not name is called `template-<index>`. */
export interface NamedTemplate extends ResourceTemplate {
  name: string;
}

/** A step of `mode: Pipeline` (Crossplane v1.14). */
export interface PipelineStep {
  /** The step's name, unique in its Composition. */
  step: string;
  /** The Function that is run. */
  functionRef: { name: string };
  /** Given to the function. */
  input?: JsonObject;
}

/** One function, run after the templates. */
export interface CompositionFunction {
  /** The step's name, unique in its Composition. */
  name: string;
  /** The only type there is so far: an OCI image, run in a container. */
  type: "Container";
  /** Given to the function as the `config` of its FunctionIO. */
  config?: JsonObject;
  container: ContainerFunction;
}

/** When an image is pulled. */
export type PullPolicy = "IfNotPresent" | "Always" | "Never";

/** What a function can reach: nothing, or what its runner can. */
export type NetworkPolicy = "Isolated" | "Accessible";

/** How a function's container is run. */
export interface ContainerFunction {
  /** The OCI image, as the author wrote it. */
  image: string;
  /** Absent: the runner's default, IfNotPresent. */
  imagePullPolicy?: PullPolicy;
  /** Secrets with credentials for the image's registry. */
  imagePullSecrets: ImagePullSecret[];
  /** Milliseconds after which the function is killed, at most {@link MAX_TIMEOUT_MS}. Absent: the runner's default, 10 s. */
  timeoutMs?: number;
  /** `Isolated` unless the author says otherwise. `network: {policy: Runner}` (v1.13) reads as `Accessible`. */
  network: NetworkPolicy;
  resources: ContainerFunctionResources;
  runner: ContainerFunctionRunner;
}

/** A reference to a Secret. */
export interface ImagePullSecret {
  name: string;
  namespace?: string;
}

/** What a function may use. There are limits only, no requests. */
export interface ContainerFunctionResources {
  limits: {
    /** Bytes, above zero. */
    memoryBytes?: number;
    /** A fraction of cores (0.25), above zero. */
    cpus?: number;
  };
}

/** Where the function's runner is. */
export interface ContainerFunctionRunner {
  /** A gRPC target such as `unix:///@crossplane/fn/default.sock`. */
  endpoint?: string;
}

/** Timers hold no more milliseconds than a signed 32-bit number, almost 25 days; more would fire at once. */
export const MAX_TIMEOUT_MS: number = 2 ** 31 - 1;

/** Whether a Composition is for an XR's exact API version and kind. */
export function isCompatible(composition: Composition, composite: KubernetesObject): boolean {
  const { apiVersion, kind } = composition.spec.compositeTypeRef;
  return composite.apiVersion === apiVersion && composite.kind === kind;
}
