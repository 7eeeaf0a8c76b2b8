import type { Composition, ContainerStep, PackageStep } from "@xfn/composition";
import type { FunctionCaller, RequirementsSource } from "@xfn/function-grpc";
import type { ExplicitConnectionDetail, ObservedResource, Severity } from "@xfn/functionio";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import type { FunctionRunner, RegistryAuth, RunPhase } from "@xfn/runner-contract";
import type { ResponseCache } from "../cache/response-cache.ts";
import type { StepDescription, StepRecord } from "../outcome/step-record.ts";
import type { StepResult } from "../outcome/step-result.ts";
import type { KindSchemas } from "../settings/strict.ts";

/** Connects to function packages, which are gRPC servers. The caller of the run ends the connections. */
export interface FunctionConnector {
  /**
   * Connects to the function of a step, and starts its server if it is not running. All steps of a run connect at the
   * same time.
   */
  connect(step: PackageStep): Promise<FunctionCaller>;
}

/** Calls functions that are HTTPS servers. The caller of the run ends its connections. */
export interface WebhookCaller {
  /** The largest response that it returns, in bytes. Default {@link DEFAULT_OUTPUT_BYTES}. */
  readonly maxOutputBytes?: number | undefined;
  /**
   * Posts a FunctionIO. Sends it once: a function that may have received it is not called again.
   *
   * @returns the body of the response
   * @throws an error with a string `code` and `retryable`, such as a `WebhookError`
   */
  call(url: string, input: Uint8Array, options: WebhookOptions): Promise<Uint8Array>;
}

/** Options of one call of a webhook. */
export interface WebhookOptions {
  /** The name of the step. */
  readonly step: string;
  /** PEM certificates that replace the system's authorities. */
  readonly caBundle?: string | undefined;
  /** A bearer token. */
  readonly token?: string | undefined;
  /** Milliseconds until the whole response must have arrived. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export type SecretReference = PackageStep["credentials"][number]["secretRef"];

/** The input of a run. */
export interface PipelineInput {
  /** The observed XR. */
  composite: KubernetesObject;
  /** The XR's own observed connection details. */
  connectionDetails?: readonly ExplicitConnectionDetail[];
  /**
   * The fields of the XR's metadata, spec and status that earlier runs set. They stay desired as long as functions
   * return them; those of the status must be set again. Without them, a function that sets a field again that the XR
   * has already does not change it.
   */
  applied?: JsonObject;
  composition: Composition;
  /** The composed resources that exist, under the names of their entries. */
  observed?: readonly ObservedResource[];
  /**
   * Data that templates read and write in addition to the XR. Without it, patches from and to the environment do
   * nothing.
   */
  environment?: JsonObject;
  /** Not used by a Composition without functions. */
  runner: FunctionRunner;
  /** Connects to the function packages of `mode: Pipeline`. Other Compositions have none. */
  functions?: FunctionConnector;
  /** Calls the functions of type Webhook. Without it, such a step fails. */
  webhooks?: WebhookCaller;
  /** Finds the objects and schemas that function packages require. Default: none exist. */
  required?: RequirementsSource;
  /** The data of a Secret that a step or webhook names as its credentials; undefined if it does not exist. */
  credentials?: (secret: SecretReference) => Promise<ReadonlyMap<string, Uint8Array> | undefined>;
  /**
   * Responses of function packages, and outputs of steps with `cache`, that can be used again. Default: each run calls
   * every function.
   */
  responses?: ResponseCache;
  /** The schemas against which steps with `schema: Strict` are checked. Default: none are known. */
  schemas?: KindSchemas;
  /** The context of the first step of `mode: Pipeline`. Default: empty. */
  context?: JsonObject;
  /** Aborts the run: the current step is stopped, and no other step starts. */
  signal?: AbortSignal;
  /** Resolves the credentials for a step's image, for callers that can read its `imagePullSecrets`. */
  auth?: (step: ContainerStep) => Promise<RegistryAuth | undefined>;
  /** Called before each step starts. */
  onStep?: (step: StepDescription, index: number) => void;
  /** Runs a step, for traces and metrics. `work` returns the most severe result. Default: runs it. */
  inStep?: (step: StepDescription, work: () => Promise<Severity>) => Promise<unknown>;
  /** Called with the duration of each phase of a step, in milliseconds. */
  onPhase?: (step: string, phase: RunPhase, ms: number) => void;
  /** Called for each warning of the pipeline itself, at once. The results contain the warnings too. */
  onWarning?: (warning: StepResult) => void;
  /**
   * Called after each step, including one that failed. Traces are made of these records. Without it, nothing is
   * measured.
   */
  onRecord?: (record: StepRecord) => void;
}
