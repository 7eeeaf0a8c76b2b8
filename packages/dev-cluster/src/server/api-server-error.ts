/** The API server could not be started, or one of its programs exited unexpectedly. */
export class ApiServerError extends Error {
  override readonly name = "ApiServerError";
  readonly code: "ProgramExited" | "NotReady" | "NoFreePort";
  readonly retryable = true;

  constructor(code: ApiServerError["code"], message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}
