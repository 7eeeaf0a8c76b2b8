/** A function that requires something else after each call. */
export class RequirementsError extends Error {
  override readonly name = "RequirementsError";
  readonly code = "RequirementsUnstable";
  readonly retryable = false;
}
