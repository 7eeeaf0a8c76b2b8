import type { RunOptions } from "@xfn/runner-contract";
import type { CachedOutput } from "../cache/cached-output.ts";
import type { FailedStep } from "../outcome/step-error.ts";

/** A call of the function of a FunctionIO step. Each type of function is one module that makes such calls. */
export interface FunctionCall extends FailedStep {
  /** The image or the URL of the function. */
  readonly image: string;
  /** How to fix the Composition, by the code of an error of {@link run}. */
  readonly advice: ReadonlyMap<string, string>;
  /** The wording of messages about the output. */
  readonly words: OutputWords;
  /** The output of an earlier run with the same input. Absent: each run calls the function. */
  readonly cached?: (input: Uint8Array) => CachedOutput | undefined;
  /** The largest output, in bytes. */
  readonly maxOutputBytes: number;
  /**
   * Calls the function once.
   *
   * @param input the FunctionIO for the function
   * @returns the output of the function
   * @throws an error with a string `code`, `retryable` and, where known, `stderr` (bounded)
   */
  run(input: Uint8Array, options: CallOptions): Promise<Uint8Array>;
}

export type CallOptions = Pick<RunOptions, "signal" | "onPhase" | "onStderr">;

/** The wording of messages about an output. */
export interface OutputWords {
  /** The output is empty. */
  readonly empty: string;
  /** The output has more than one document. */
  readonly several: string;
  /** The output itself. */
  readonly output: string;
  /** A likely cause of an output that is not a document of the expected form; can be empty. */
  readonly hint: string;
}
