/** A revision that cannot be created because other objects have every name that its content can have. */
export class RevisionError extends Error {
  override readonly name = "RevisionError";
  readonly code = "NoFreeName";
  readonly retryable = false;
}
