import { claimProblem, SIGN_PREDICATE, type SignedImage, statementProblem } from "./signed-claim.ts";
import type { SignedFile } from "./signed-file.ts";

/** Whose signatures count. */
export interface Signer {
  /** Why no signature of the file is one of the signer; undefined if one is. */
  problemOf(file: SignedFile): string | undefined;
}

/** A signer, and what it must have signed. */
export interface Authority {
  readonly signer: Signer;
  /** The types of in-toto predicates. If there are some, one such attestation is required in place of a signature. */
  readonly predicateTypes?: ReadonlySet<string>;
}

/** Why a file is not what an authority must have signed about an image; undefined if it is. */
export function fileProblem(file: SignedFile, authority: Authority, image: SignedImage): string | undefined {
  const { signer, predicateTypes = SIGNATURES } = authority;
  // A payload is read only after its signature was verified.
  const problem = signer.problemOf(file);
  if (problem !== undefined) return problem;
  if (file.form === "statement") return statementProblem(file.payload, image, predicateTypes);
  return predicateTypes === SIGNATURES ? claimProblem(file.payload, image) : "it is not an attestation";
}

const SIGNATURES: ReadonlySet<string> = new Set([SIGN_PREDICATE]);

/**
 * The type of an attestation's predicate, from the name that `cosign attest --type` has for it, or itself.
 *
 * @see https://github.com/sigstore/cosign/blob/main/specs/COSIGN_PREDICATE_SPEC.md
 */
export function predicateType(name: string): string {
  return PREDICATE_TYPES.get(name) ?? name;
}

const PREDICATE_TYPES: ReadonlyMap<string, string> = new Map([
  ["custom", "https://cosign.sigstore.dev/attestation/v1"],
  ["cyclonedx", "https://cyclonedx.org/bom"],
  ["link", "https://in-toto.io/Link/v1"],
  ["openvex", "https://openvex.dev/ns"],
  ["slsaprovenance", "https://slsa.dev/provenance/v0.2"],
  ["slsaprovenance02", "https://slsa.dev/provenance/v0.2"],
  ["slsaprovenance1", "https://slsa.dev/provenance/v1"],
  ["spdx", "https://spdx.dev/Document"],
  ["spdxjson", "https://spdx.dev/Document"],
  ["vuln", "https://cosign.sigstore.dev/attestation/vuln/v1"],
]);
