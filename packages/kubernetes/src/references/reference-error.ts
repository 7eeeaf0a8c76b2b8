/** The codes of a {@link ReferenceResolutionError}. */
export type ReferenceErrorCode =
  /** The target, or its value, is not there yet. */
  | "ReferenceNotResolved"
  /** The reference or selector can never be resolved as it is written. */
  | "InvalidReference";

/** A reference of a resource that has no value. Its message names the fields and the way out. */
export class ReferenceResolutionError extends Error {
  override readonly name = "ReferenceResolutionError";
  /** Also the reason of the condition that a provider sets. */
  readonly code: ReferenceErrorCode;

  constructor(code: ReferenceErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Whether a change of another object can resolve the reference. */
  get retryable(): boolean {
    return this.code === "ReferenceNotResolved";
  }
}
