import { CodedError } from "@xfn/errors";
/** Why a claim is not synchronized: the reason of its `Synced` condition. */
export type ClaimErrorCode =
  /** `spec.resourceRef` names another kind than the definition's. */
  | "InvalidResourceRef"
  /** `spec.resourceRef` names a composite that does not exist. The claim waits for it. */
  | "CompositeNotFound"
  /**
   * Another claim or object owns the composite, or it no longer refers to this claim. The controller neither changes
   * nor deletes it.
   */
  | "CompositeOfAnother"
  /**
   * The composite has no claim, and is not offered to the claims of this namespace. Its owner can offer it with the
   * annotation `apiextensions.crossplane.io/claimable-by`.
   */
  | "CompositeNotClaimable"
  /**
   * The composite does not own its connection secret, or the claim does not own the one in its namespace. The
   * controller neither copies nor writes a Secret.
   */
  | "SecretOfAnother"
  /** The composite's connection secret does not exist yet. */
  | "SecretNotFound"
  /**
   * The claim asks for a connection secret, and its composite has none. Give the Composition
   * `spec.writeConnectionSecretsToNamespace`.
   */
  | "NoConnectionSecret"
  /** The API server refuses the copy. */
  | "SecretRefused";

/** A claim that waits for something, or that a user must fix. The message says what to do. */
export class ClaimError extends CodedError<ClaimErrorCode> {
  override readonly name = "ClaimError";
  /** Whether the same claim may be synchronized later: its composite may still publish the connection secret. */
  override readonly retryable: boolean = this.code === "SecretNotFound" || this.code === "NoConnectionSecret";
}
