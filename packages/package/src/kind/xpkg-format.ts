/**
 * Annotation of layers that Crossplane reads
 * (https://github.com/crossplane/crossplane/blob/main/contributing/specifications/xpkg.md).
 */
export const XPKG_KEY = "io.crossplane.xpkg";

/** The layer with {@link STREAM_FILE}. */
export const BASE_LAYER = "base";
/** The layer with {@link EXAMPLES_FILE}. */
export const EXAMPLES_LAYER = "upbound";

/** The objects of a package, as a YAML stream. */
export const STREAM_FILE = "package.yaml";
/** The examples of a package, as a YAML stream. */
export const EXAMPLES_FILE = ".up/examples.yaml";

/**
 * The label for the annotation of a layer. A package file cannot contain annotations of layers, so the image's
 * configuration has them as labels, and a push sets them on the layers.
 */
export function layerLabel(digest: string): string {
  return `${XPKG_KEY}:${digest}`;
}
