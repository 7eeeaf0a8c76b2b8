import { ImageError } from "../base/errors.ts";
import { type Descriptor, parseDescriptor, parseObject } from "./manifest.ts";

/** Strings that one page adds: tags, or referrers with their annotations. A page of 1,000 tags is usual. */
const MAX_PAGE_STRINGS = 100_000;

/**
 * An artifact that refers to a manifest, such as a signature or SBOM (OCI distribution-spec 1.1, "Listing
 * Referrers").
 */
export interface Referrer extends Descriptor {
  readonly artifactType?: string;
}

/** Parses one page of a repository's tags. @throws ImageError InvalidManifest, TooLarge */
export function parseTags(bytes: Uint8Array): string[] {
  const list = parseObject(bytes, "list of tags")["tags"] ?? [];
  if (!Array.isArray(list) || !list.every((tag) => typeof tag === "string"))
    throw new ImageError("InvalidManifest", "the list of tags has something other than tags");
  checkStrings(list.length, "tags");
  return list;
}

/** Parses one page of a manifest's referrers. @throws ImageError InvalidManifest, TooLarge */
export function parseReferrers(bytes: Uint8Array): Referrer[] {
  const list = parseObject(bytes, "list of referrers")["manifests"];
  if (!Array.isArray(list)) throw new ImageError("InvalidManifest", "the list of referrers has no manifests");
  const referrers = list.map((entry, i) => {
    const descriptor = parseDescriptor(entry, `referrer ${i}`);
    const { artifactType } = entry as { artifactType?: unknown };
    return typeof artifactType === "string" ? { ...descriptor, artifactType } : descriptor;
  });
  const annotations = referrers.map(({ annotations = {} }) => Object.keys(annotations).length);
  checkStrings(
    annotations.reduce((sum, count) => sum + count, referrers.length),
    "referrers and annotations",
  );
  return referrers;
}

/** The thread that asked for a page receives its strings at once. */
function checkStrings(count: number, what: string): void {
  if (count > MAX_PAGE_STRINGS)
    throw new ImageError("TooLarge", `a page of ${count} ${what}, more than ${MAX_PAGE_STRINGS}`);
}
