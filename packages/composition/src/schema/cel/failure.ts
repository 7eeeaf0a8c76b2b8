/** A function was given what it cannot take. Its message names no value. */
export class CelFunctionError extends Error {
  override readonly name = "CelFunctionError";
  readonly code = "InvalidArgument";
  /** The same value fails again. */
  readonly retryable = false;
}

// Texts that functions make are no longer than this; lists of references to one long text make much of little.
const MAX_RESULT_LENGTH = 10_000_000;

/** Passes the length of a text that is about to be made. */
export function boundedLength(length: number): void {
  if (length > MAX_RESULT_LENGTH)
    throw new CelFunctionError(`the text would have more than ${MAX_RESULT_LENGTH} characters`);
}
