/** A function does not accept its arguments. The message contains no value. */
export class CelFunctionError extends Error {
  override readonly name = "CelFunctionError";
  readonly code = "InvalidArgument";
  /** The same value fails again. */
  readonly retryable = false;
}

// The longest result of a function. A list of many references to one long text can be joined to a huge one.
const MAX_RESULT_LENGTH = 10_000_000;

/** Fails if a text of this length is too long. Called before the text is created. */
export function boundedLength(length: number): void {
  if (length > MAX_RESULT_LENGTH)
    throw new CelFunctionError(`the text would have more than ${MAX_RESULT_LENGTH} characters`);
}
