import type { Desired } from "@xfn/functionio";
import type { RunPhase } from "@xfn/runner-contract";
import type { StepResult } from "../steps/run-pipeline.ts";
import { PipelineError } from "./pipeline-error.ts";
import type { StepRecord, TemplateWrite } from "./step-record.ts";

/** Measures one step from the moment it is made, and tells of it once, when the step has ended. */
export class StepRecorder {
  readonly #tell: (record: StepRecord) => void;
  readonly #record: StepRecord;
  readonly #started: number = performance.now();

  constructor(tell: (record: StepRecord) => void, step: Pick<StepRecord, "name" | "kind" | "image" | "before">) {
    this.#tell = tell;
    this.#record = { ...step, inputBytes: 0, outputBytes: 0, ms: 0, phases: {}, after: step.before, results: [] };
  }

  /** A phase of the runner. One that is reported twice, as by a runner that tries again, took the sum. */
  phase(phase: RunPhase, ms: number): void {
    const { phases } = this.#record;
    phases[phase] = (phases[phase] ?? 0) + ms;
  }

  /** The bytes that the function was given. */
  given(bytes: number): void {
    this.#record.inputBytes = bytes;
  }

  /** The bytes that the function returned. */
  returned(bytes: number): void {
    this.#record.outputBytes = bytes;
  }

  /** The step has ended, and this is the desired state after it. */
  done(after: Desired, results: StepResult[], writes?: TemplateWrite[]): void {
    this.#end({ after, results, ...(writes && { writes }) });
  }

  /** The step ended the run by an error. */
  failed(error: unknown, results: StepResult[] = [], writes?: TemplateWrite[]): void {
    const { code, message } =
      error instanceof PipelineError ? error : { code: "Internal", message: "the step failed unexpectedly" };
    this.#end({ error: { code, message }, results, ...(writes && { writes }) });
  }

  #end(rest: Partial<StepRecord>): void {
    this.#tell({ ...this.#record, ms: performance.now() - this.#started, ...rest });
  }
}
