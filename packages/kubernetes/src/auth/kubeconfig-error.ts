/** There is no way to an API server here, or a kubeconfig is not what it should be. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
  readonly code: "NotFound" | "Unreadable" | "Invalid" | "Credentials";

  constructor(code: KubeconfigError["code"], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
