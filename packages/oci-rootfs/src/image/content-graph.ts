import { ImageError } from "../base/errors.ts";
import { digestOf, isOfDigest } from "./digest.ts";
import type { ImageSource, SourceManifest } from "./image-source.ts";
import {
  chooseManifest,
  type Descriptor,
  declaredType,
  type ImageIndex,
  isIndex,
  MAX_BLOB_BYTES,
  MAX_LAYERS,
  MAX_MANIFEST_BYTES,
  parseDescriptor,
  parseManifestOrIndex,
  parseObject,
} from "./manifest.ts";
import { IMAGE_MANIFEST_TYPES, INDEX_TYPES } from "./media-types.ts";
import type { Platform } from "./platform.ts";

/** A manifest to copy, byte for byte. */
export interface CopiedManifest {
  readonly descriptor: Pick<Descriptor, "mediaType" | "digest" | "size">;
  readonly bytes: Uint8Array;
  /** Config and layers of any media type, because an index may also contain signatures and attestations. */
  readonly blobs: readonly Descriptor[];
}

/** An image, or all images of an index. */
export interface ContentGraph {
  /** The index, or the only manifest. */
  readonly top: Pick<Descriptor, "mediaType" | "digest" | "size">;
  /** In the order to write them: a manifest follows everything that it references. */
  readonly manifests: readonly CopiedManifest[];
}

/** All manifests of one index, which stay in memory. Those of the largest official images take about 100 KiB. */
const MAX_ALL_MANIFESTS_BYTES = 64 * 1024 * 1024;
/** Layers that only their vendor may distribute (OCI image-spec, "Non-Distributable Layers"). */
const FOREIGN_LAYER = /nondistributable|\.foreign\./;

/**
 * Reads the manifests of an image, or of all images of an index. Rejects an index within an index.
 *
 * @param platform reads only the image for this platform
 * @throws ImageError
 */
export async function readContentGraph(
  source: ImageSource,
  top: SourceManifest,
  platform: Platform | undefined,
  signal: AbortSignal,
): Promise<ContentGraph> {
  const fields = parseObject(top.bytes, "manifest");
  const mediaType = declaredType(fields, top.mediaType);
  const descriptor = { mediaType, digest: top.digest, size: top.bytes.length };
  if (!INDEX_TYPES.has(mediaType)) return { top: descriptor, manifests: [readManifest(descriptor, top.bytes)] };
  const index = parseManifestOrIndex(top.bytes, top.mediaType) as ImageIndex;
  const children = platform === undefined ? index.manifests : [chooseManifest(index, platform)];
  const manifests = new Map<string, CopiedManifest>();
  let total = 0;
  for (const child of children) {
    if (manifests.has(child.digest)) continue;
    total += child.size;
    if (child.size > MAX_MANIFEST_BYTES || total > MAX_ALL_MANIFESTS_BYTES)
      throw new ImageError("TooLarge", "the manifests of the index are too large", { digest: child.digest });
    const { bytes } = await source.manifest({ digest: child.digest }, signal);
    if (bytes.length !== child.size)
      throw new ImageError("SizeMismatch", `manifest of ${bytes.length} bytes instead of ${child.size}`, {
        digest: child.digest,
      });
    if (!isOfDigest(bytes, child.digest))
      throw new ImageError("DigestMismatch", `the manifest's digest is ${digestOf(bytes)}`, { digest: child.digest });
    manifests.set(child.digest, readManifest(child, bytes));
  }
  if (platform !== undefined) {
    const [chosen] = manifests.values();
    return { top: (chosen as CopiedManifest).descriptor, manifests: [chosen as CopiedManifest] };
  }
  return { top: descriptor, manifests: [...manifests.values(), { descriptor, bytes: top.bytes, blobs: [] }] };
}

/** The platforms of an index whose manifests exist, and whether some are missing. */
export function availablePlatforms(
  bytes: Uint8Array,
  mediaType: string | undefined,
  has: (digest: string) => boolean,
): {
  readonly missing: boolean;
  readonly platforms: readonly Platform[];
} {
  const fields = parseObject(bytes, "manifest");
  if (!INDEX_TYPES.has(declaredType(fields, mediaType))) return { missing: false, platforms: [] };
  const document = parseManifestOrIndex(bytes, mediaType);
  if (!isIndex(document)) return { missing: false, platforms: [] };
  const present = document.manifests.filter(({ digest }) => has(digest));
  return {
    missing: present.length < document.manifests.length,
    platforms: present.flatMap(({ platform }) => (platform === undefined ? [] : [platform])),
  };
}

function readManifest(
  { mediaType, digest, size }: Pick<Descriptor, "mediaType" | "digest" | "size">,
  bytes: Uint8Array,
): CopiedManifest {
  const fields = parseObject(bytes, "manifest");
  if (fields["manifests"] !== undefined)
    throw new ImageError("InvalidManifest", "an index within an index is not followed", { digest });
  const type = declaredType(fields, mediaType);
  if (!IMAGE_MANIFEST_TYPES.has(type))
    throw new ImageError("Unsupported", `cannot copy a manifest of type ${JSON.stringify(type.slice(0, 150))}`, {
      digest,
    });
  const list = fields["layers"];
  if (!Array.isArray(list)) throw new ImageError("InvalidManifest", "manifest has no list of layers", { digest });
  if (list.length > MAX_LAYERS)
    throw new ImageError("TooLarge", `${list.length} layers, more than ${MAX_LAYERS}`, { digest });
  const blobs = [
    parseDescriptor(fields["config"], "config"),
    ...list.map((entry, i) => parseDescriptor(entry, `layer ${i}`)),
  ].filter((blob) => !FOREIGN_LAYER.test(blob.mediaType));
  for (const blob of blobs) {
    if (blob.size > MAX_BLOB_BYTES)
      throw new ImageError("TooLarge", `${blob.size} bytes, more than ${MAX_BLOB_BYTES}`, { digest: blob.digest });
  }
  return { descriptor: { mediaType, digest, size }, bytes, blobs };
}
