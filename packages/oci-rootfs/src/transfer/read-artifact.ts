import { ImageError } from "../base/errors.ts";
import { isObject } from "../base/json.ts";
import type { ImageSource } from "../image/image-source.ts";
import { type Descriptor, MAX_LAYOUT_INDEX_BYTES, parseDescriptor, parseObject } from "../image/manifest.ts";
import { readVerified } from "../image/verified-bytes.ts";

/** A manifest of an artifact is read for each use, on the calling thread. */
const MAX_ARTIFACT_MANIFEST_BYTES = MAX_LAYOUT_INDEX_BYTES;

/** A file of an artifact that is not an image, such as a signature. */
export interface ArtifactFile {
  readonly mediaType: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly content: Buffer;
}

/** Selects and bounds the files of an artifact to read. */
export interface ArtifactOptions {
  readonly mediaTypes: ReadonlySet<string>;
  /** More files are an error. */
  readonly maxFiles: number;
  /** A larger file is an error. */
  readonly maxBytes: number;
}

/**
 * Reads the files of an artifact: the layers of its manifest (OCI image-spec, "Guidelines for Artifact Usage"), one
 * after the other, as the caller asks for them. Their content has the digests that the manifest names.
 *
 * @throws ImageError InvalidManifest, TooLarge, DigestMismatch, SizeMismatch; those of registries
 */
export async function* readArtifact(
  source: Pick<ImageSource, "manifest" | "blob">,
  selector: { tag: string } | { digest: string },
  { mediaTypes, maxFiles, maxBytes }: ArtifactOptions,
  signal: AbortSignal,
): AsyncGenerator<ArtifactFile, void> {
  const { bytes, digest } = await source.manifest(selector, signal);
  if (bytes.length > MAX_ARTIFACT_MANIFEST_BYTES)
    throw new ImageError("TooLarge", `a manifest of ${bytes.length} bytes, more than ${MAX_ARTIFACT_MANIFEST_BYTES}`, {
      digest,
    });
  const { layers } = parseObject(bytes, "manifest");
  if (!Array.isArray(layers)) throw new ImageError("InvalidManifest", "the artifact has no layers", { digest });
  const wanted: Descriptor[] = layers
    .filter((layer) => isObject(layer) && typeof layer["mediaType"] === "string" && mediaTypes.has(layer["mediaType"]))
    .map((layer, index) => parseDescriptor(layer, `layer ${index}`));
  if (wanted.length > maxFiles)
    throw new ImageError("TooLarge", `the artifact has ${wanted.length} files, more than ${maxFiles}`, { digest });
  for (const layer of wanted) {
    const { size } = layer;
    // Before the request: a response that is not read occupies its connection.
    if (size > maxBytes) throw new ImageError("TooLarge", `a file of ${size} bytes, more than ${maxBytes}`, { digest });
    const content = await readVerified(await source.blob(layer, signal), layer, maxBytes);
    yield { mediaType: layer.mediaType, annotations: layer.annotations ?? {}, content };
  }
}
