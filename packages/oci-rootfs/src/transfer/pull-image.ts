import type { Reference } from "../image/image-name.ts";
import type { ImageSource } from "../image/image-source.ts";
import { MAX_MANIFEST_BYTES } from "../image/manifest.ts";
import { type Platform, printPlatform } from "../image/platform.ts";
import { type Image, type ImageOptions, named, type StoreInternals } from "../store/store.ts";

/** Pulls what the store lacks of an image, unpacks it, and sets its name. @throws ImageError */
export async function pullImage(
  inside: StoreInternals,
  reference: Reference,
  platform: Platform,
  options: ImageOptions,
): Promise<Image> {
  const { images, names } = inside;
  // Loaded on demand, so that a call of a cached image does not load an HTTP client.
  const { RegistryClient } = await import("../registry/client.ts");
  const source: ImageSource = new RegistryClient(reference, options);
  const name = reference.toString();
  try {
    const { digest, tag = "latest" } = reference;
    const top = await source.manifest(digest === undefined ? { tag } : { digest }, options.signal);
    if (images.readDocument(top.digest, MAX_MANIFEST_BYTES) === undefined) images.storeDocument(top.digest, top.bytes);
    const { onProgress, signal } = options;
    const ready = await images.prepare(top, { name, source, platform, onProgress, signal });
    const target = { mediaType: top.mediaType ?? "", digest: top.digest, size: top.bytes.length };
    const before = names.get(name);
    const manifests = before?.target.digest === top.digest ? before.manifests : {};
    const key = printPlatform(platform);
    // An unchanged image needs no write.
    if (manifests[key] !== ready.digest)
      names.put({ name, target, manifests: { ...manifests, [key]: ready.digest }, built: false });
    return named(name, ready);
  } finally {
    // Not awaited, because concurrent callers may still transfer layers through this client.
    source.close().catch(() => {});
  }
}
