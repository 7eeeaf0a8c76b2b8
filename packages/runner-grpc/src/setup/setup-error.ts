/** Why a client or a server cannot be set up as its options say. */
export type RunnerSetupErrorCode =
  /** An endpoint has a spelling that is not understood. */
  | "InvalidEndpoint"
  /** An option is out of its range, or goes with another that it cannot go with. */
  | "InvalidOption"
  /** Somebody listens there already. */
  | "AddressInUse"
  /** The address cannot be listened on. */
  | "ListenFailed"
  /** Callers on this address could not be told from a function that was given the runner's network. */
  | "AuthenticationRequired"
  /** A token would cross a network in the clear. */
  | "PlaintextRefused"
  /** A token file is missing, too large, or has no usable token. */
  | "TokenUnusable"
  /** A certificate, key or CA file is missing, too large, or does not fit the others. */
  | "CertificateUnusable";

/** A client or a server that cannot be set up. The message names the option or the address, and the way out. */
export class RunnerSetupError extends Error {
  override readonly name = "RunnerSetupError";
  readonly code: RunnerSetupErrorCode;
  /** Whether the same may succeed later, without a change of the options. */
  readonly retryable: boolean;

  constructor(code: RunnerSetupErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryable = code === "AddressInUse" || code === "TokenUnusable" || code === "CertificateUnusable";
  }
}
