/**
 * - `Missing`: the registry has no signature of the image
 * - `Untrusted`: no signature of the image is one of the keys
 * - `InvalidKey`: a public key cannot be used
 */
export type SignatureErrorCode = "Missing" | "Untrusted" | "InvalidKey";

/** An image that is not signed as required. The message says why, and what to do. */
export class SignatureError extends Error {
  override readonly name = "SignatureError";
  readonly code: SignatureErrorCode;
  /** A signature can be added to an image. A key must be changed. */
  readonly retryable: boolean;

  constructor(code: SignatureErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.retryable = code !== "InvalidKey";
  }
}
