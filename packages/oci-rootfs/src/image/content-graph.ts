import { ImageError } from "../base/errors.ts";
import { digestOf, isOfDigest } from "./digest.ts";
import type { ImageSource, SourceManifest } from "./image-source.ts";
import {
  chooseManifest,
  type Descriptor,
  declaredType,
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
  /** The index, or the only manifest. It is written last. */
  readonly top: CopiedManifest;
  /** The manifests of the index. */
  readonly children: readonly CopiedManifest[];
}

/** All manifests of one index, which stay in memory. The largest official images have about 100 KiB of manifests. */
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
  const index = INDEX_TYPES.has(mediaType) ? parseManifestOrIndex(top.bytes, top.mediaType) : undefined;
  if (index === undefined || !isIndex(index)) return { top: readManifest(descriptor, top.bytes), children: [] };
  if (platform !== undefined)
    return { top: await readChild(source, chooseManifest(index, platform), signal), children: [] };
  const children = new Map<string, CopiedManifest>();
  let total = 0;
  for (const child of index.manifests) {
    if (children.has(child.digest)) continue;
    total += child.size;
    if (total > MAX_ALL_MANIFESTS_BYTES) throw tooLarge(child);
    children.set(child.digest, await readChild(source, child, signal));
  }
  return { top: { descriptor, bytes: top.bytes, blobs: [] }, children: [...children.values()] };
}

async function readChild(source: ImageSource, child: Descriptor, signal: AbortSignal): Promise<CopiedManifest> {
  const { digest, size } = child;
  if (size > MAX_MANIFEST_BYTES) throw tooLarge(child);
  const { bytes } = await source.manifest({ digest }, signal);
  if (bytes.length !== size)
    throw new ImageError("SizeMismatch", `manifest of ${bytes.length} bytes instead of ${size}`, { digest });
  if (!isOfDigest(bytes, digest))
    throw new ImageError("DigestMismatch", `the manifest's digest is ${digestOf(bytes)}`, { digest });
  return readManifest(child, bytes);
}

function tooLarge({ digest }: Descriptor): ImageError {
  return new ImageError("TooLarge", "the manifests of the index are too large: copy one platform of it", { digest });
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
