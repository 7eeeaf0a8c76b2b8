import { objectAt } from "@xfn/json";
import { parseReference } from "@xfn/oci-rootfs/image-name";
import { readJson } from "./read-json.ts";

/** The image that a signature must name. */
export interface SignedImage {
  readonly digest: string;
  /** The repositories by which the image is known: as users name it, and where it is pulled. Without tag or digest. */
  readonly repositories: readonly string[];
}

/** The types that cosign and containers/image write. */
const CLAIM_TYPES: ReadonlySet<unknown> = new Set(["cosign container image signature", "atomic container signature"]);

/** cosign marks its signatures with it: other statements of the same key, such as an SBOM, are not signatures. */
export const SIGN_PREDICATE = "https://sigstore.dev/cosign/sign/v1";

/** https://github.com/in-toto/attestation/blob/main/spec/README.md */
const STATEMENT_TYPE = /^https:\/\/in-toto\.io\/Statement\/v/;

/**
 * Checks a payload in the form "simple signing". The identity must be the image's: otherwise a package of another
 * repository that the same key signed could take its place.
 *
 * @see https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
 * @returns why it is not about the image; undefined if it is
 */
export function claimProblem(payload: Uint8Array, image: SignedImage): string | undefined {
  const critical = objectAt(readJson(payload), "critical");
  if (!CLAIM_TYPES.has(critical["type"])) return `its type is ${JSON.stringify(critical["type"])}`;
  const digest = objectAt(critical, "image")["docker-manifest-digest"];
  if (digest !== image.digest) return `it is for ${JSON.stringify(digest)}`;
  const name = objectAt(critical, "identity")["docker-reference"];
  if (name === undefined || name === "" || (typeof name === "string" && isNameOf(name, image))) return undefined;
  return `it is for the repository ${JSON.stringify(name)}`;
}

/** Checks an in-toto statement. @returns why it does not state one of the types about the image, if it does not */
export function statementProblem(
  payload: Uint8Array,
  { digest }: SignedImage,
  predicateTypes: ReadonlySet<string>,
): string | undefined {
  const { _type: type, predicateType = "", subject } = readJson(payload);
  if (typeof type !== "string" || !STATEMENT_TYPE.test(type)) return "it is not an in-toto statement";
  if (typeof predicateType !== "string" || !predicateTypes.has(predicateType))
    return `it states ${JSON.stringify(predicateType)}`;
  const subjects = (Array.isArray(subject) ? subject : []).map((one) => objectAt(one, "digest")["sha256"]);
  if (subjects.some((hex) => typeof hex === "string" && `sha256:${hex}` === digest)) return undefined;
  return `it is for ${JSON.stringify(subjects)}`;
}

/** Mirrors keep the path of a repository, and put their own before it. */
function isNameOf(name: string, { repositories }: SignedImage): boolean {
  try {
    const { repository } = parseReference(name);
    return repositories.some((one) => `/${one}`.endsWith(`/${repository}`));
  } catch {
    return false;
  }
}
