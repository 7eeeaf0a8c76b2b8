import { CodedError } from "@xfn/errors";
/** The codes of a {@link ReferenceResolutionError}. */
export type ReferenceErrorCode =
  /** The target, or its value, is not there yet. */
  | "ReferenceNotResolved"
  /** The reference or selector can never be resolved as it is written. */
  | "InvalidReference";

/**
 * A reference of a resource that has no value. Its message names the fields and the way out. The code is
 * also the reason of the condition that a provider sets.
 */
export class ReferenceResolutionError extends CodedError<ReferenceErrorCode> {
  override readonly name = "ReferenceResolutionError";
  /** Whether a change of another object can resolve the reference. */
  override readonly retryable: boolean = this.code === "ReferenceNotResolved";
}
