import type { Descriptor } from "./manifest.ts";

/** Where images come from: a registry, or a layout on disk. What comes is not trusted: callers verify it. */
export interface ImageSource {
  /**
   * Manifest or index by tag or digest.
   *
   * @throws ImageError NotFound, Unauthorized, RegistryUnavailable, TooLarge
   */
  manifest(selector: { tag: string } | { digest: string }, signal: AbortSignal | undefined): Promise<SourceManifest>;
  /** Bytes of a config or layer. */
  blob(descriptor: Descriptor, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  /** Lets connections go. Transfers under way end by themselves. */
  close(): Promise<void>;
}

export interface SourceManifest {
  readonly bytes: Uint8Array;
  /** As the source labels it. */
  readonly mediaType?: string;
  /** The digest, computed from the bytes. */
  readonly digest: string;
}
