import type { TemplateWrite } from "@xfn/composition";
import type { Desired } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import type { RunPhase } from "@xfn/runner-contract";
import type { StepResult } from "./step-result.ts";

/** The properties of a step that are known before it runs, for traces. */
export interface StepDescription {
  /** The step's name; `templates` for patch-and-transform as a whole. */
  readonly name: string;
  readonly kind: "templates" | "function";
  /** The image or the Function of a function. */
  readonly image?: string;
}

/** The calls of a function package in one step. */
export interface PackageCalls {
  /** The number of calls; more than one if the function required something. */
  count: number;
  /** The names of the function's last requirements. */
  requirements: string[];
  /** The context that the function returned. */
  context?: JsonObject;
  /** Milliseconds for which the response may be used again. */
  ttlMs?: number;
}

/**
 * The record of one step, as passed to `onRecord` of a run. Traces are made of records. A record shares its values with
 * the run: do not modify it.
 */
export interface StepRecord extends StepDescription {
  /** Bytes written to the function; 0 for templates. */
  inputBytes: number;
  /** Bytes that the function returned; 0 for templates, and for a function that could not be run. */
  outputBytes: number;
  /** Milliseconds of the whole step, including the encoding of its input and the parsing of its output. */
  ms: number;
  /** Milliseconds of each runner phase. Empty for templates. */
  phases: Partial<Record<RunPhase, number>>;
  /** Desired state before the step. */
  before: Desired;
  /** Desired state after the step; the same object as `before` if the step failed. */
  after: Desired;
  /**
   * Whether entries are ready after the step, as far as function packages report it; null is the XR. Absent if the step
   * failed.
   */
  readiness?: ReadonlyMap<string | null, boolean>;
  /** Results of this step, and of the pipeline about it. */
  results: StepResult[];
  /** The writes of bases and patches, in order; for kind `templates`. */
  writes?: TemplateWrite[];
  /** The guard (`when`) that was false. Absent for a step that ran. */
  skipped?: string;
  /** The number of attempts after the first one. Absent: one was enough. */
  retries?: number;
  /** The calls of a function package. */
  calls?: PackageCalls;
  /** The values of the credentials that the run has read, which a trace hides. */
  credentials?: readonly Uint8Array[];
  /** The end of the function's stderr, if the runner passed it on. */
  stderr?: string;
  /** Why the run ended here: the error's code and message, without any value of a resource. */
  error?: { code: string; message: string };
}

export type { TemplateWrite };
