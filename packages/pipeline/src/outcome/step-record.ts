import type { TemplateWrite } from "@xfn/composition";
import type { Desired } from "@xfn/functionio";
import type { RunPhase } from "@xfn/runner-contract";
import type { StepResult } from "./step-result.ts";

/**
 * What one step did, as passed to `onRecord` of a run. A trace is made of records. Nothing is copied: do not modify a
 * record.
 */
export interface StepRecord {
  /** The step's name; `templates` for patch-and-transform as a whole. */
  name: string;
  kind: "templates" | "function";
  /** The image of a function. */
  image?: string;
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
  /** Results of this step, and of the pipeline about it. */
  results: StepResult[];
  /** What patches and bases set, in order of writing; for kind `templates`. */
  writes?: TemplateWrite[];
  /** Why the run ended here: the error's code and message, without any value of a resource. */
  error?: { code: string; message: string };
}

export type { TemplateWrite };
