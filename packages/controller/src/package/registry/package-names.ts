import { parseReference } from "@xfn/oci-rootfs";

/**
 * Adds the digest to a reference that was resolved to it.
 *
 * @throws {ImageError} `InvalidReference`
 */
export function pinnedReference(reference: string, digest: string): string {
  const { location, tag } = parseReference(reference);
  return `${location}${tag === undefined ? "" : `:${tag}`}@${digest}`;
}

/**
 * The digest in a reference; undefined if it has none.
 *
 * @throws {ImageError} `InvalidReference`
 */
export function digestIn(reference: string): string | undefined {
  return parseReference(reference).digest;
}
