import type { Desired, ExplicitConnectionDetail, Observed, Result } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import type { CompositeResource } from "../observed/observed-entries.ts";
import type { StepRecorder } from "../outcome/record-step.ts";
import type { StepCondition } from "../outcome/step-condition.ts";
import type { StepDescription } from "../outcome/step-record.ts";
import type { StepResult } from "../outcome/step-result.ts";
import type { PipelineInput } from "./pipeline-input.ts";

/**
 * A step of a Composition. Each kind of step is one module that implements this interface; nothing else asks for the
 * kind. A step belongs to a Composition and keeps nothing of a run.
 */
export interface PlannedStep {
  /** What a trace says of the step. */
  readonly description: StepDescription;
  /**
   * Starts what the step needs. All steps of a run prepare at the same time, before the first one runs. A step whose
   * guard reads desired state prepares just before it runs.
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

/** What does not change during a run. */
export interface Run {
  readonly input: PipelineInput;
  readonly composite: CompositeResource;
  readonly observed: Observed;
}

/** What steps hand on. */
export interface State {
  readonly desired: Desired;
  /** The observed connection details of the XR that functions returned unchanged. */
  readonly passedOn: readonly ExplicitConnectionDetail[];
  /** The results so far, which FunctionIO steps receive. */
  readonly earlier: readonly Result[];
  /** What the templates left beside desired state. */
  readonly templates: TemplatesRun;
  /** Data that steps of `mode: Pipeline` share beside desired state. */
  readonly context?: JsonObject | undefined;
  readonly hints: Hints;
  readonly conditions: readonly StepCondition[];
  /** Milliseconds for which the outcome may be used again: the shortest time that a step returned. */
  readonly ttlMs?: number | undefined;
  /** The result that ends the run. */
  readonly fatal?: StepResult;
}

/** What patch-and-transform leaves beside desired state. */
export interface TemplatesRun {
  /** The XR after the patches to it. Absent if they changed nothing. */
  readonly composite?: JsonObject | undefined;
  /** The names of the entries whose templates failed. */
  readonly failed: ReadonlySet<string>;
}

/** What function packages say of desired state, and a FunctionIO has no field for. */
export interface Hints {
  /** Whether an entry is ready. A name without a value: its function did not say. No name: readiness checks decide. */
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

/** What a step reports while it runs. */
export interface StepReport {
  /** Adds a result. `own`: the pipeline says it about the step. */
  say(result: StepResult, own: boolean): void;
  /** Ends the step, with the run or at the step's timeout. */
  readonly signal: AbortSignal | undefined;
  /** Absent without a trace. */
  readonly recorder: StepRecorder | undefined;
}
