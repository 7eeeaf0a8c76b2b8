import type { JsonObject } from "@xfn/json";

/**
 * The version of the files of a {@link Recording}. It increases when a field is removed or changes its meaning, and not
 * when one is added.
 */
export const RECORDING_VERSION = 1;

/** The inputs and outputs of the functions of one run. Secrets are masked. */
export interface Recording {
  /** The composed XR. Absent for the call of a single function. */
  readonly composite?: RecordedObject;
  /** The Composition's name, if it has one. */
  readonly composition?: string;
  /** `Failed`: the run ended with {@link error}, and the steps are those up to the failure. */
  readonly status: "Succeeded" | "Fatal" | "Failed";
  readonly error?: RecordedError;
  /** The steps that called a function, in the order of their first call. Templates call none. */
  readonly steps: readonly RecordedStep[];
}

/** The identity of an object. */
export interface RecordedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** The calls of one step. */
export interface RecordedStep {
  readonly name: string;
  /** `Function`: a FunctionIO or ResourceList in, and one out. `Package`: the messages of a function package. */
  readonly type: StepType;
  /** More than one if a function package required something. */
  readonly calls: readonly RecordedCall[];
}

export type StepType = "Function" | "Package";

/** One call. It has either an output or an error. */
export interface RecordedCall {
  readonly input: JsonObject;
  /** Without `observed` if the function returned it unchanged. */
  readonly output?: JsonObject;
  readonly error?: RecordedError;
}

/** Why a call or a run failed. */
export interface RecordedError {
  readonly code: string;
  readonly message: string;
}
