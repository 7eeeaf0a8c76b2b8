import { type Composition, type CompositionFunction, ConnectionDetails, isCompatible } from "@xfn/composition";
import {
  API_VERSION,
  accumulate,
  type Desired,
  type ExplicitConnectionDetail,
  type FunctionIO,
  KIND,
  type KubernetesObject,
  type Observed,
  type ObservedResource,
  type Result,
  type Severity,
  severityOf,
} from "@xfn/functionio";
import { checkDesired } from "./check-desired.ts";
import { type ComposedResource, compose } from "./compose.ts";
import type { FunctionRunner, RegistryAuth, RunPhase } from "./function-runner.ts";
import { asComposite, type CompositeResource, describe } from "./observed.ts";
import { PipelineError } from "./pipeline-error.ts";
import { StepRecorder } from "./record-step.ts";
import { runStep } from "./run-step.ts";
import { stepInputs } from "./step-input.ts";
import type { StepRecord } from "./step-record.ts";

/** What a run is given. */
export interface PipelineInput {
  /** The XR, as it was observed. */
  composite: KubernetesObject;
  /** The XR's own connection details, as they were observed. */
  connectionDetails?: readonly ExplicitConnectionDetail[];
  composition: Composition;
  /** The composed resources that exist, under the names of their entries. */
  observed?: readonly ObservedResource[];
  runner: FunctionRunner;
  /** Ends the run: the step that is running is ended, and no other is started. */
  signal?: AbortSignal;
  /** Credentials for a step's image, for those who can read its `imagePullSecrets`. */
  auth?: (step: CompositionFunction) => Promise<RegistryAuth | undefined>;
  /** Told of each step before it starts. */
  onStep?: (step: CompositionFunction, index: number) => void;
  /** Told how long each phase of a step took, in milliseconds. */
  onPhase?: (step: string, phase: RunPhase, ms: number) => void;
  /** Told of what the pipeline itself finds suspicious, as soon as it does. These are among the results as well. */
  onWarning?: (warning: StepResult) => void;
  /** Told of each step after it has ended, the one that failed included: what a trace is made of. Without it nothing is measured. */
  onRecord?: (record: StepRecord) => void;
}

/** Something that a step, or the pipeline about a step, has to say. */
export interface StepResult {
  severity: Severity;
  message: string;
  /** The step that said it. Absent: it is about the run as a whole. */
  step?: string;
  /** A word for programs, where the function gave one. */
  reason?: string;
}

/** What came of a run. */
export interface PipelineResult {
  /** The XR as it was given. */
  composite: CompositeResource;
  /** Everything that the functions desire, as they wrote it. After a fatal result: nothing of it may be applied. */
  desired: Desired;
  /** What is to be applied, with name, labels and owner set; sorted by entry name. Empty after a fatal result. */
  composed: ComposedResource[];
  /** The names of the entries whose resources are to be deleted, sorted. Empty after a fatal result. */
  deleted: string[];
  /** What the XR is to publish. Empty after a fatal result. */
  connectionDetails: ConnectionDetails;
  /** The results of all steps in order, with the pipeline's own warnings after those of the step that they are about. */
  results: StepResult[];
  /** The result that ended the run. Later functions did not run, and nothing may be applied or deleted. */
  fatal?: StepResult;
}

/**
 * Runs the functions of a Composition for one XR, in order, and accumulates what they desire (seed 000, "Function API").
 *
 * Every function is given the same observed state. The first fatal result ends the run. What functions desire is given
 * its identity at the end; see {@link ComposedResource}.
 *
 * @throws {PipelineError}
 */
export async function runPipeline(input: PipelineInput): Promise<PipelineResult> {
  const { composition } = input;
  const composite = asComposite(input.composite);
  if (!isCompatible(composition, composite)) throw mismatch(composition, composite);
  const observed = observedState(input, composite);
  const run = await runSteps(input, composite, observed);
  const { desired, results, fatal } = run;
  if (fatal !== undefined) {
    const nothing = { composed: [], deleted: [], connectionDetails: new ConnectionDetails() };
    return { composite, desired, results, fatal, ...nothing };
  }
  const { warnings, ...composed } = compose({
    composite,
    desired,
    observed: observed.resources ?? [],
    deleteUndesired: composition.spec.undesiredResources === "Delete",
  });
  for (const message of warnings) warn(input, results, { severity: "Warning", message });
  return { composite, desired, results, ...composed };
}

async function runSteps(
  input: PipelineInput,
  composite: CompositeResource,
  observed: Observed,
): Promise<{ desired: Desired; results: StepResult[]; fatal?: StepResult }> {
  const inputFor = stepInputs(observed);
  const results: StepResult[] = [];
  let desired: Desired = {};
  let passedOn: Result[] = [];
  for (const [index, step] of input.composition.spec.functions.entries()) {
    input.onStep?.(step, index);
    const { runner, signal, auth, onRecord } = input;
    const recorder =
      onRecord &&
      new StepRecorder(onRecord, { name: step.name, kind: "function", image: step.container.image, before: desired });
    const first = results.length;
    try {
      const bytes = inputFor({ config: step.config, desired, results: passedOn });
      recorder?.given(bytes.length);
      const returned = await runStep(step, bytes, {
        runner,
        signal,
        auth,
        onPhase: phaseListener(input, recorder),
        onOutput: recorder && ((length) => recorder.returned(length)),
      });
      const before: FunctionIO = { apiVersion: API_VERSION, kind: KIND, observed, desired, results: passedOn };
      const after = accumulate(before, returned, step.name);
      results.push(...after.added.map((result) => stepResult(step.name, result)));
      for (const { message } of after.warnings) warn(input, results, { severity: "Warning", message, step: step.name });
      if (after.fatal === undefined) checkDesired(step, after.desired, composite, observed);
      desired = after.desired;
      recorder?.done(desired, results.slice(first));
      if (after.fatal !== undefined) return { desired, results, fatal: stepResult(step.name, after.fatal) };
      passedOn = after.results;
    } catch (error) {
      recorder?.failed(error, results.slice(first));
      throw error;
    }
  }
  return { desired, results };
}

function phaseListener(input: PipelineInput, recorder: StepRecorder | undefined): PipelineInput["onPhase"] {
  const { onPhase } = input;
  if (recorder === undefined) return onPhase;
  return (step, phase, ms) => {
    recorder.phase(phase, ms);
    onPhase?.(step, phase, ms);
  };
}

function stepResult(step: string, result: Result): StepResult {
  const { reason } = result;
  return {
    severity: severityOf(result),
    message: result.message,
    step,
    ...(typeof reason === "string" && { reason }),
  };
}

function warn(input: PipelineInput, results: StepResult[], warning: StepResult): void {
  results.push(warning);
  input.onWarning?.(warning);
}

function observedState(input: PipelineInput, composite: CompositeResource): Observed {
  const { connectionDetails, observed } = input;
  return {
    composite: { resource: composite, ...(connectionDetails?.length && { connectionDetails: [...connectionDetails] }) },
    resources: [...(observed ?? [])],
  };
}

function mismatch(composition: Composition, composite: CompositeResource): PipelineError {
  const { apiVersion, kind } = composition.spec.compositeTypeRef;
  const name =
    composition.metadata.name === undefined ? "the Composition" : `the Composition ${composition.metadata.name}`;
  return new PipelineError(
    "CompositionMismatch",
    `${name} composes ${kind} of ${apiVersion} (spec.compositeTypeRef), but the composite resource is ${describe(composite)} ` +
      `of ${composite.apiVersion}; both must be the same`,
  );
}
