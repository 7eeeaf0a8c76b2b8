import type { Descriptor } from "./manifest.ts";

export interface BlobWrite {
  readonly descriptor: Descriptor;
  /** Opens the content, once for each attempt. The target verifies it. */
  readonly open: (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
  /** Receives the number of bytes written so far. */
  readonly onBytes: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/** The destination of a copy: a registry, a layout or a store. */
export interface ImageTarget {
  /** The full name of the copy. */
  readonly name: string;
  /** Whether the target has the manifest and everything that it references. */
  hasManifest(descriptor: Pick<Descriptor, "mediaType" | "digest">, signal: AbortSignal): Promise<boolean>;
  /** Writes a blob unless the target has it. */
  blob(write: BlobWrite): Promise<"present" | "mounted" | "written">;
  /** Writes a manifest whose content the target has. */
  manifest(
    descriptor: Pick<Descriptor, "mediaType" | "digest" | "size">,
    bytes: Uint8Array,
    signal: AbortSignal,
  ): Promise<void>;
  /** Writes the top manifest, and sets the name. */
  finish(
    descriptor: Pick<Descriptor, "mediaType" | "digest" | "size">,
    bytes: Uint8Array,
    signal: AbortSignal,
  ): Promise<void>;
  close(): Promise<void>;
}
