import { ImageError } from "../base/errors.ts";
import { digestOf, isOfDigest } from "../image/digest.ts";
import type { ImageSource } from "../image/image-source.ts";
import { type Descriptor, MAX_MANIFEST_BYTES } from "../image/manifest.ts";
import { readVerified } from "../image/verified-bytes.ts";

/** Fetches a manifest or config, and verifies it. @throws ImageError */
export async function fetchDocument(
  source: ImageSource,
  descriptor: Pick<Descriptor, "digest" | "size" | "mediaType">,
  limit: number,
  signal: AbortSignal,
): Promise<Buffer> {
  if (limit !== MAX_MANIFEST_BYTES || !descriptor.mediaType.includes("manifest"))
    return readVerified(await source.blob(descriptor, signal), descriptor, limit);
  const { bytes } = await source.manifest({ digest: descriptor.digest }, signal);
  if (!isOfDigest(bytes, descriptor.digest))
    throw new ImageError("DigestMismatch", `the manifest's digest is ${digestOf(bytes)}`, {
      digest: descriptor.digest,
    });
  if (bytes.length !== descriptor.size)
    throw new ImageError("SizeMismatch", `manifest of ${bytes.length} bytes instead of ${descriptor.size}`, {
      digest: descriptor.digest,
    });
  return Buffer.from(bytes);
}
