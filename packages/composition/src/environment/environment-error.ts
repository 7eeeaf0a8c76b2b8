/**
 * - `NotFound`: an EnvironmentConfig that is referred to, or the field that a label's value comes from, is not there
 * - `Ambiguous`: a selector with `mode: Single` matches several EnvironmentConfigs
 * - `TooFew`: a selector matches fewer EnvironmentConfigs than `minMatch`
 * - `CannotSort`: EnvironmentConfigs cannot be brought in order by the field that the selector names
 * - `Invalid`: the selector or the data cannot be used
 */
export type EnvironmentErrorCode = "NotFound" | "Ambiguous" | "TooFew" | "CannotSort" | "Invalid";

/** An environment that cannot be made. The message names the place in the Composition, never a value. */
export class EnvironmentError extends Error {
  override readonly name = "EnvironmentError";
  readonly code: EnvironmentErrorCode;
  /** Whether a retry would help: once the missing EnvironmentConfig exists, or there is one less. */
  readonly retryable: boolean;

  constructor(code: EnvironmentErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.retryable = code === "NotFound" || code === "Ambiguous" || code === "TooFew";
  }
}
