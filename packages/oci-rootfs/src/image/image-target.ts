import type { Descriptor } from "./manifest.ts";

/** A blob to be written. */
export interface BlobWrite {
  readonly descriptor: Descriptor;
  /** Opens the content; perhaps more than once. The target verifies it. */
  readonly open: (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
  /** Bytes so far. */
  readonly onBytes: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/** Where images are copied to: a registry, a layout, a store. */
export interface ImageTarget {
  /** The full name of the image there. */
  readonly name: string;
  /** Whether the manifest is there, and all that it is made of. */
  hasManifest(descriptor: Pick<Descriptor, "mediaType" | "digest">, signal: AbortSignal): Promise<boolean>;
  /** Writes a blob, unless it is there. */
  blob(write: BlobWrite): Promise<"present" | "mounted" | "written">;
  /** Writes a manifest; what it is made of is there. */
  manifest(
    descriptor: Pick<Descriptor, "mediaType" | "digest" | "size">,
    bytes: Uint8Array,
    signal: AbortSignal,
  ): Promise<void>;
  /** Writes the last manifest, which all others and the name stand on. */
  finish(
    descriptor: Pick<Descriptor, "mediaType" | "digest" | "size">,
    bytes: Uint8Array,
    signal: AbortSignal,
  ): Promise<void>;
  close(): Promise<void>;
}
