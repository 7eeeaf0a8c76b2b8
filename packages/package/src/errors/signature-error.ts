import { CodedError } from "@xfn/errors";
/**
 * - `Missing`: the registry has no signature of the image
 * - `Untrusted`: no signature of the image is one of the keys
 * - `InvalidKey`: a public key cannot be used
 * - `InvalidIdentity`: an identity of a signer lacks a field, or has an invalid regular expression
 * - `InvalidRoot`: a trusted root of Sigstore cannot be used
 */
export type SignatureErrorCode = "Missing" | "Untrusted" | "InvalidKey" | "InvalidIdentity" | "InvalidRoot";

/** An image that is not signed as required. The message says why, and what to do. */
export class SignatureError extends CodedError<SignatureErrorCode> {
  override readonly name = "SignatureError";
  /** A signature can be added to an image. A key, identity or root must be changed. */
  override readonly retryable: boolean = this.code === "Missing" || this.code === "Untrusted";
}
