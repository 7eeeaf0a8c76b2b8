import { CodedError } from "@xfn/errors";
/**
 * - `NotFound`: an EnvironmentConfig, or the field with a label's value, does not exist
 * - `Ambiguous`: a selector with `mode: Single` matches several EnvironmentConfigs
 * - `TooFew`: a selector matches fewer EnvironmentConfigs than `minMatch`
 * - `CannotSort`: EnvironmentConfigs cannot be sorted by the field that the selector names
 * - `Invalid`: the selector or the data is invalid
 */
export type EnvironmentErrorCode = "NotFound" | "Ambiguous" | "TooFew" | "CannotSort" | "Invalid";

/** An environment could not be selected. The message contains the path in the Composition, never a value. */
export class EnvironmentError extends CodedError<EnvironmentErrorCode> {
  override readonly name = "EnvironmentError";
  /** Whether a retry may succeed: once an EnvironmentConfig is created or deleted. */
  override readonly retryable: boolean =
    this.code === "NotFound" || this.code === "Ambiguous" || this.code === "TooFew";
}
