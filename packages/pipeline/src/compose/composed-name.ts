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
  const hash = hashOf(`${compositeUid}\0${entry}`);
  const longest = MAX_NAME_LENGTH - HASH_LENGTH;
  if (prefix.length <= longest) return `${prefix}${hash}`;
  // A truncated prefix can end in a dot or dash; the name needs a letter or digit after a dot.
  return `${prefix.slice(0, longest - 1).replace(/[.-]{1,50}$/, "")}-${hash}`;
}

/** The name that Crossplane 2 gives a composed resource. It depends only on the XR and the entry. */
export function childName(prefix: string, compositeUid: string, entry: string): string {
  const hash = hashOf(`${compositeUid}${entry}`);
  const parent = prefix === "" || prefix.endsWith("-") ? prefix : `${prefix}-`;
  const longest = MAX_NAME_LENGTH - HASH_LENGTH;
  if (parent.length <= longest) return `${parent}${hash}`;
  const start = parent.slice(0, longest);
  return start.endsWith("-") ? `${start}${hash}` : `${start.slice(0, -1)}-${hash}`;
}

/** Whether a name was derived from the XR's UID and the entry. No object of another XR or entry has it. */
export function isDerivedName(name: string, compositeUid: string, entry: string): boolean {
  const hash = name.slice(-HASH_LENGTH);
  return hash === composedName("", compositeUid, entry) || hash === childName("", compositeUid, entry);
}

function hashOf(text: string): string {
  // Load the module for the first name only: `xfn render` mostly runs for XRs without a UID, which need no name.
  const { createHash } = process.getBuiltinModule("node:crypto");
  return createHash("sha256").update(text).digest("hex").slice(0, HASH_LENGTH);
}
