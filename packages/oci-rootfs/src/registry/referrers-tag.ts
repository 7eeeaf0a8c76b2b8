import { ImageError } from "../base/errors.ts";
import { digestOf, isDigest } from "../image/digest.ts";
import { type Descriptor, MAX_MANIFEST_BYTES, parseObject } from "../image/manifest.ts";
import { OCI_INDEX } from "../image/media-types.ts";
import type { Referrer } from "../image/registry-page.ts";

/** The digest of a manifest's `subject` (OCI image-spec), if it has one. */
export function subjectOf(bytes: Uint8Array): string | undefined {
  const { subject } = parseObject(bytes, "manifest") as { subject?: { digest?: unknown } | null };
  const digest = subject?.digest;
  return typeof digest === "string" && isDigest(digest) ? digest : undefined;
}

/**
 * Adds a manifest to the list of referrers that clients maintain for registries without the referrers API (OCI
 * distribution-spec 1.1, "Referrers Tag Schema"). Returns undefined if the list has it.
 */
export function addToReferrers(
  known: readonly Referrer[],
  descriptor: Pick<Descriptor, "mediaType" | "digest" | "size">,
  bytes: Uint8Array,
): { descriptor: Pick<Descriptor, "mediaType" | "digest" | "size">; bytes: Uint8Array } | undefined {
  if (known.some(({ digest }) => digest === descriptor.digest)) return undefined;
  const { artifactType, config, annotations } = parseObject(bytes, "manifest") as {
    artifactType?: unknown;
    config?: { mediaType?: unknown } | null;
    annotations?: unknown;
  };
  const type = typeof artifactType === "string" && artifactType !== "" ? artifactType : config?.mediaType;
  const entry = {
    mediaType: descriptor.mediaType,
    digest: descriptor.digest,
    size: descriptor.size,
    ...(typeof type === "string" && { artifactType: type }),
    ...(typeof annotations === "object" && annotations !== null && { annotations }),
  };
  const list = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: OCI_INDEX, manifests: [...known, entry] }));
  if (list.length > MAX_MANIFEST_BYTES)
    throw new ImageError("TooLarge", "the list of referrers is full", { digest: descriptor.digest });
  return { descriptor: { mediaType: OCI_INDEX, digest: digestOf(list), size: list.length }, bytes: list };
}
