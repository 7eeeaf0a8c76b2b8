import type { Desired } from "@xfn/functionio";
import type { RunPhase } from "@xfn/runner-contract";
import { PipelineError } from "./pipeline-error.ts";
import type { PackageCalls, StepDescription, StepRecord, TemplateWrite } from "./step-record.ts";
import type { StepResult } from "./step-result.ts";

/** Measures one step from the moment of construction, and emits its record once, when the step ends. */
export class StepRecorder {
  readonly #emit: (record: StepRecord) => void;
  readonly #record: StepRecord;
  readonly #started: number = performance.now();

  constructor(emit: (record: StepRecord) => void, step: StepDescription & Pick<StepRecord, "before" | "credentials">) {
    this.#emit = emit;
    this.#record = { ...step, inputBytes: 0, outputBytes: 0, ms: 0, phases: {}, after: step.before, results: [] };
  }

  /** Adds to a phase of the runner. A runner that retries reports a phase more than once. */
  phase(phase: RunPhase, ms: number): void {
    const { phases } = this.#record;
    phases[phase] = (phases[phase] ?? 0) + ms;
  }

  /** Sets the number of bytes written to the function. */
  given(bytes: number): void {
    this.#record.inputBytes = bytes;
  }

  /** Sets the number of bytes that the function returned. */
  returned(bytes: number): void {
    this.#record.outputBytes = bytes;
  }

  /** Adds a write of a base or a patch. */
  wrote(write: TemplateWrite): void {
    (this.#record.writes ??= []).push(write);
  }

  /** Sets the calls of a function package. */
  called(calls: PackageCalls): void {
    this.#record.calls = calls;
  }

  /** Records that the step did not run, because this guard is false. */
  skipped(when: string): void {
    this.#record.skipped = when;
  }

  /** Counts another attempt. */
  retried(): void {
    this.#record.retries = (this.#record.retries ?? 0) + 1;
  }

  /** Ends the record of a step that succeeded. @param after desired state after the step */
  done(after: Desired, results: StepResult[], readiness: NonNullable<StepRecord["readiness"]>): void {
    this.#end({ after, results, readiness });
  }

  /** Ends the record of a step that failed. */
  failed(error: unknown, results: StepResult[] = []): void {
    const { code, message, stderr } =
      error instanceof PipelineError
        ? error
        : { code: "Internal", message: "the step failed unexpectedly", stderr: undefined };
    this.#end({ error: { code, message }, results, ...(stderr && { stderr }) });
  }

  #end(rest: Partial<StepRecord>): void {
    this.#emit({ ...this.#record, ms: performance.now() - this.#started, ...rest });
  }
}
