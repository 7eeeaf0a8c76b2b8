import type { Composition, CompositionFunction } from "@xfn/composition";
import type { ExplicitConnectionDetail, JsonObject, KubernetesObject, ObservedResource } from "@xfn/functionio";
import type { FunctionRunner, RegistryAuth, RunPhase } from "@xfn/runner-contract";
import type { StepRecord } from "../outcome/step-record.ts";
import type { StepResult } from "../outcome/step-result.ts";

/** The input of a run. */
export interface PipelineInput {
  /** The observed XR. */
  composite: KubernetesObject;
  /** The XR's own observed connection details. */
  connectionDetails?: readonly ExplicitConnectionDetail[];
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
  /** Aborts the run: the current step is stopped, and no other step starts. */
  signal?: AbortSignal;
  /** Resolves the credentials for a step's image, for callers that can read its `imagePullSecrets`. */
  auth?: (step: CompositionFunction) => Promise<RegistryAuth | undefined>;
  /** Called before each step starts. */
  onStep?: (step: CompositionFunction, index: number) => void;
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
