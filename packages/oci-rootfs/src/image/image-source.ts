import type { Descriptor } from "./manifest.ts";

/** A source of images: a registry, a layout or a store. Its content is untrusted, so callers verify it. */
export interface ImageSource {
  /**
   * Returns a manifest or index by tag or digest.
   *
   * @throws ImageError NotFound, Unauthorized, RegistryUnavailable, TooLarge
   */
  manifest(selector: { tag: string } | { digest: string }, signal: AbortSignal | undefined): Promise<SourceManifest>;
  /** Returns the bytes of a config or layer. */
  blob(descriptor: Descriptor, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  /** Closes connections once the transfers in progress have ended. */
  close(): Promise<void>;
}

export interface SourceManifest {
  readonly bytes: Uint8Array;
  /** The source's label, which is often missing or wrong. */
  readonly mediaType?: string;
  /** Computed from the bytes. */
  readonly digest: string;
}
