/** Why a claim cannot go on, as the reason of its condition `Synced`. */
export type ClaimProblemReason =
  /** `spec.resourceRef` names another kind than the definition's. */
  | "InvalidResourceRef"
  /** `spec.resourceRef` names a composite that is not there. */
  | "CompositeNotFound"
  /** The composite is bound to another claim. */
  | "CompositeOfAnother"
  /** The connection secret is not the composite's, or the one in the claim's namespace is another's. */
  | "SecretOfAnother"
  /** The composite's connection secret is not there. */
  | "SecretNotFound"
  /** The server does not take the copy. */
  | "SecretRefused";

/** Something that a person has to mend, or that is waited for. The message says what to do. */
export class ClaimProblem extends Error {
  override readonly name = "ClaimProblem";
  readonly code: ClaimProblemReason;

  constructor(code: ClaimProblemReason, message: string) {
    super(message);
    this.code = code;
  }
}
