import {
  API_VERSION,
  accumulate,
  type Desired,
  type FunctionIO,
  KIND,
  type Observed,
  type Result,
  severityOf,
} from "@xfn/functionio";
import type { CompositeResource } from "../observed/observed-entries.ts";
import { StepRecorder } from "../outcome/record-step.ts";
import type { StepResult } from "../outcome/step-result.ts";
import { checkDesired } from "./check-desired.ts";
import type { PipelineInput } from "./pipeline-input.ts";
import { runStep } from "./run-step.ts";
import { stepInputs } from "./step-input.ts";

/** The outcome of all functions. */
export interface FunctionsRun {
  desired: Desired;
  /** The result that ended the run. */
  fatal?: StepResult;
}

/**
 * Runs the functions of a Composition in order. They accumulate desired state.
 *
 * @param start the desired state of the templates
 * @param report called for each result in order, including the pipeline's own warnings
 * @throws {PipelineError}
 */
export async function runFunctions(
  input: PipelineInput,
  composite: CompositeResource,
  observed: Observed,
  start: Desired,
  report: (result: StepResult, own: boolean) => void,
): Promise<FunctionsRun> {
  const { functions } = input.composition.spec;
  if (functions.length === 0) return { desired: start };
  const inputFor = stepInputs(observed);
  let desired = start;
  let passedOn: Result[] = [];
  for (const [index, step] of functions.entries()) {
    input.onStep?.(step, index);
    const { runner, signal, auth, onRecord } = input;
    const recorder =
      onRecord &&
      new StepRecorder(onRecord, { name: step.name, kind: "function", image: step.container.image, before: desired });
    const results: StepResult[] = [];
    const say = (result: StepResult, own: boolean): void => {
      results.push(result);
      report(result, own);
    };
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
      for (const result of after.added) say(stepResult(step.name, result), false);
      for (const { message } of after.warnings) say({ severity: "Warning", message, step: step.name }, true);
      if (after.fatal === undefined) checkDesired(step, after.desired, composite, observed);
      desired = after.desired;
      recorder?.done(desired, results);
      if (after.fatal !== undefined) return { desired, fatal: stepResult(step.name, after.fatal) };
      passedOn = after.results;
    } catch (error) {
      recorder?.failed(error, results);
      throw error;
    }
  }
  return { desired };
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
