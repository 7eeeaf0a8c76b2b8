import { CodedError } from "@xfn/errors";
/** Why the options of a client or a server cannot work. */
export type RunnerSetupErrorCode =
  /** An endpoint has an unknown form. */
  | "InvalidEndpoint"
  /** An option is out of range, or conflicts with another one. */
  | "InvalidOption"
  /** Another process already listens on the address. */
  | "AddressInUse"
  /** Listening on the address failed. */
  | "ListenFailed"
  /** Callers on this address could not be distinguished from a function in the runner's network. */
  | "AuthenticationRequired"
  /** A token would be sent over a network unencrypted. */
  | "PlaintextRefused"
  /** A token file is missing, too large, or has no usable token. */
  | "TokenUnusable"
  /** A certificate, key or CA file is missing, too large, or does not match the others. */
  | "CertificateUnusable";

/** The options of a client or a server cannot work. The message names the option or the address, and the fix. */
export class RunnerSetupError extends CodedError<RunnerSetupErrorCode> {
  override readonly name = "RunnerSetupError";
  /** Whether the same options may work later. */
  override readonly retryable: boolean =
    this.code === "AddressInUse" || this.code === "TokenUnusable" || this.code === "CertificateUnusable";
}
