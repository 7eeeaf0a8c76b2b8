import type { Desired, ExplicitConnectionDetail, Observed, Result } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import type { CompositeResource } from "../observed/observed-entries.ts";
import type { StepRecorder } from "../outcome/record-step.ts";
import type { StepCondition } from "../outcome/step-condition.ts";
import type { StepDescription } from "../outcome/step-record.ts";
import type { StepResult } from "../outcome/step-result.ts";
import type { PipelineInput } from "./pipeline-input.ts";

/**
 * A step of a Composition. Each kind of step is one module that implements this interface, so that other modules need
 * not know the kind. A step belongs to a Composition, and keeps no state of a run.
 */
export interface PlannedStep {
  /** The properties of the step for traces. */
  readonly description: StepDescription;
  /**
   * Prepares the step, for example by connecting to its function. All steps of a run prepare at the same time, before
   * the first one runs. A step whose guard reads desired state prepares just before it runs.
   *
   * @param signal ends the preparation, with the run or at the step's timeout
   * @throws {PipelineError}
   */
  prepare(run: Run, signal: AbortSignal | undefined): PreparedStep | Promise<PreparedStep>;
}

/** A step that can run once. */
export interface PreparedStep {
  /**
   * Runs the step.
   *
   * @throws {PipelineError}
   */
  run(state: State, report: StepReport): State | Promise<State>;
}

/** The parts of a run that do not change from step to step. */
export interface Run {
  readonly input: PipelineInput;
  readonly composite: CompositeResource;
  readonly observed: Observed;
}

/** The state that each step passes to the next. */
export interface State {
  readonly desired: Desired;
  /** The observed connection details of the XR that functions returned unchanged. */
  readonly passedOn: readonly ExplicitConnectionDetail[];
  /** The results so far, which FunctionIO steps receive. */
  readonly earlier: readonly Result[];
  /** The output of the templates other than desired state. */
  readonly templates: TemplatesRun;
  /** Data that steps of `mode: Pipeline` share in addition to desired state. */
  readonly context?: JsonObject | undefined;
  readonly hints: Hints;
  readonly conditions: readonly StepCondition[];
  /** Milliseconds for which the outcome may be used again: the shortest time that a step returned. */
  readonly ttlMs?: number | undefined;
  /** The result that ends the run. */
  readonly fatal?: StepResult;
}

/** The output of patch-and-transform other than desired state. */
export interface TemplatesRun {
  /** The XR after the patches to it. Absent if they changed nothing. */
  readonly composite?: JsonObject | undefined;
  /** The names of the entries whose templates failed. */
  readonly failed: ReadonlySet<string>;
}

/** Facts about desired state that function packages report, and for which a FunctionIO has no field. */
export interface Hints {
  /** Whether an entry is ready; undefined if its function did not report it. Without a key, readiness checks decide. */
  readonly ready: ReadonlyMap<string, boolean | undefined>;
  /** Whether the XR is ready. Absent: the composed resources decide. */
  readonly compositeReady?: boolean | undefined;
  /** Connection details of entries, by entry name. */
  readonly details: ReadonlyMap<string, ReadonlyMap<string, Uint8Array>>;
  /** Connection details of the XR that are not text. */
  readonly binary: ReadonlyMap<string, Uint8Array>;
}

/** The state before the first step. */
export const START: State = {
  desired: {},
  passedOn: [],
  earlier: [],
  templates: { failed: new Set() },
  hints: { ready: new Map(), details: new Map(), binary: new Map() },
  conditions: [],
};

/** Receives the reports of a running step. */
export interface StepReport {
  /** Adds a result. `own`: the pipeline reports it about the step. */
  say(result: StepResult, own: boolean): void;
  /** Ends the step, with the run or at the step's timeout. */
  readonly signal: AbortSignal | undefined;
  /** Absent without a trace. */
  readonly recorder: StepRecorder | undefined;
}
