/** Annotation of layers that Crossplane reads (https://github.com/crossplane/crossplane/blob/main/contributing/specifications/xpkg.md). */
export const XPKG_KEY = "io.crossplane.xpkg";

/** The layer that holds {@link STREAM_FILE}. */
export const BASE_LAYER = "base";
/** The layer that holds {@link EXAMPLES_FILE}. */
export const EXAMPLES_LAYER = "upbound";

/** A package's objects, as a YAML stream. */
export const STREAM_FILE = "package.yaml";
/** A package's examples, likewise. */
export const EXAMPLES_FILE = ".up/examples.yaml";

/**
 * The label by which a package's file says what a layer is: the form of the file has no place for annotations of layers, so that
 * they are kept in the configuration and put on the layers when the package is pushed.
 */
export function layerLabel(digest: string): string {
  return `${XPKG_KEY}:${digest}`;
}
