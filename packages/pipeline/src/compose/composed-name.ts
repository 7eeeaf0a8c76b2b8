/** The longest DNS label (RFC 1123). Many kinds accept only a DNS label as a name. */
const MAX_NAME_LENGTH = 63;

/** 48 bits: a million names with one prefix collide with a probability of one in 500; XRs have tens of names. */
const HASH_LENGTH = 12;

/**
 * The name of a composed resource without a desired name. It depends only on the XR and the entry. A retry after
 * a crash finds the object of the earlier try instead of creating a second one.
 *
 * @param prefix the start of the name, such as `my-db-`; truncated if it is too long
 */
export function composedName(prefix: string, compositeUid: string, entry: string): string {
  // Load the module for the first name only: `xfn render` mostly runs for XRs without a UID, which need no name.
  const { createHash } = process.getBuiltinModule("node:crypto");
  const hash = createHash("sha256").update(`${compositeUid}\0${entry}`).digest("hex").slice(0, HASH_LENGTH);
  const longest = MAX_NAME_LENGTH - HASH_LENGTH;
  if (prefix.length <= longest) return `${prefix}${hash}`;
  // A truncated prefix can end in a dot or dash; the name needs a letter or digit after a dot.
  return `${prefix.slice(0, longest - 1).replace(/[.-]{1,50}$/, "")}-${hash}`;
}
