export { ANNOTATION_RESOURCE_NAME, LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE, LABEL_COMPOSITE } from "@xfn/composition";

/** Many kinds allow only a DNS label (RFC 1123) for a name. */
const MAX_NAME_LENGTH = 63;

/** 48 bits: among a million names under one prefix the chance of a collision is one in 500; XRs have tens. */
const HASH_LENGTH = 12;

/**
 * The name of a composed resource that nobody named: the same for the same XR and entry, always, so that a retry after a
 * crash finds what an earlier try created instead of creating a second one.
 *
 * @param prefix what the name starts with, such as `my-db-`; cut to what fits
 */
export function composedName(prefix: string, compositeUid: string, entry: string): string {
  // Loaded for the first name: most runs of the command line are for XRs that have no UID yet.
  const { createHash } = process.getBuiltinModule("node:crypto");
  const hash = createHash("sha256").update(`${compositeUid}\0${entry}`).digest("hex").slice(0, HASH_LENGTH);
  const longest = MAX_NAME_LENGTH - HASH_LENGTH;
  if (prefix.length <= longest) return `${prefix}${hash}`;
  // A cut may end in a dot or dash, after which a name must go on with a letter.
  return `${prefix.slice(0, longest - 1).replace(/[.-]{1,50}$/, "")}-${hash}`;
}
