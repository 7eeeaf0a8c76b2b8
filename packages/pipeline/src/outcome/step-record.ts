import type { TemplateWrite } from "@xfn/composition";
import type { Desired } from "@xfn/functionio";
import type { RunPhase } from "@xfn/runner-contract";
import type { StepResult } from "../steps/run-pipeline.ts";

/** What one step did, as it is told to `onRecord` of a run: the raw material of a trace. Nothing in it is copied: do not change it. */
export interface StepRecord {
  /** The step's name; `templates` stands for patch-and-transform as a whole. */
  name: string;
  kind: "templates" | "function";
  /** The image, for a function. */
  image?: string;
  /** Bytes given to the function; 0 for templates. */
  inputBytes: number;
  /** Bytes that the function returned; 0 for templates, and for a function that could not be run. */
  outputBytes: number;
  /** Milliseconds of the whole step, preparation of its input and reading of its output included. */
  ms: number;
  /** Milliseconds of the runner's phases. Empty for templates. */
  phases: Partial<Record<RunPhase, number>>;
  /** Desired state before the step. */
  before: Desired;
  /** Desired state after it; the same object as `before` when the step failed. */
  after: Desired;
  /** What this step, and the pipeline about it, had to say. */
  results: StepResult[];
  /** What patches and bases set, for kind `templates`; in order of writing. */
  writes?: TemplateWrite[];
  /** Why the run ended here: the error's code and message, never a value of a resource. */
  error?: { code: string; message: string };
}

export type { TemplateWrite };
