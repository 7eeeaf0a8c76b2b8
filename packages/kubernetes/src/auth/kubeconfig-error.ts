/** The environment names no API server, or a kubeconfig is invalid. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
  readonly code: "NotFound" | "Unreadable" | "Invalid" | "Credentials";

  constructor(code: KubeconfigError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Whether the same may succeed later: a program or a service that issues credentials may fail temporarily. */
  get retryable(): boolean {
    return this.code === "Credentials";
  }
}
