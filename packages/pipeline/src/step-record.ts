import type { Desired } from "@xfn/functionio";
import type { RunPhase } from "./function-runner.ts";
import type { StepResult } from "./pipeline.ts";

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

/** One write of patch-and-transform into the XR or a composed resource. */
export interface TemplateWrite {
  /** The entry that was written to; null for the XR. */
  resource: string | null;
  /** Where: a concrete field path, without wildcards. */
  path: string;
  /** The template whose patch this is; absent for a patch of `environment.patches`. */
  template?: string;
  /** The patch's place as the author wrote it, such as `spec.resources[0].patches[2]` or `spec.patchSets[1].patches[0]`. */
  source: string;
  /** Where the value came from, such as `FromCompositeFieldPath spec.region`. */
  from: string;
}
