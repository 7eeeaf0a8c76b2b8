/** Why a claim is not synchronized: the reason of its `Synced` condition. */
export type ClaimErrorCode =
  /** `spec.resourceRef` names another kind than the definition's. */
  | "InvalidResourceRef"
  /** `spec.resourceRef` names a composite that does not exist. */
  | "CompositeNotFound"
  /** The composite is bound to another claim, or another object controls it. */
  | "CompositeOfAnother"
  /** The composite has no claim, and is not offered to those of the claim's namespace. */
  | "CompositeNotClaimable"
  /** The connection secret does not belong to the composite, or the one in the claim's namespace not to the claim. */
  | "SecretOfAnother"
  /** The composite's connection secret does not exist. */
  | "SecretNotFound"
  /** The composite has no connection secret, and gets none. */
  | "NoConnectionSecret"
  /** The server refuses the copy. */
  | "SecretRefused";

/** A claim that waits for something, or that a user must fix. The message says what to do. */
export class ClaimError extends Error {
  override readonly name = "ClaimError";
  readonly code: ClaimErrorCode;

  constructor(code: ClaimErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Whether the same claim may be synchronized later: its composite may still publish the connection secret. */
  get retryable(): boolean {
    return this.code === "SecretNotFound" || this.code === "NoConnectionSecret";
  }
}
