import { InputError, statInput } from "@xfn/input";
import {
  type ImageConfig,
  ImageError,
  type Platform,
  type ReadArchiveOptions,
  type ReadArchiveResult,
  readArchive,
} from "@xfn/oci-rootfs";
import { layerLabel, XPKG_KEY } from "@xfn/package";

/** Errors that the file itself causes, unlike a full disk. */
const WRONG_FILE: ReadonlySet<string> = new Set([
  "DigestMismatch",
  "InvalidConfig",
  "InvalidManifest",
  "TooLarge",
  "UnsafeLayer",
  "Unsupported",
]);

/**
 * Reads the files of packages into a layout, and annotates their layers from the labels.
 *
 * @throws InputError for a file that is missing or not an image
 */
export async function readPackageArchive(
  options: Omit<ReadArchiveOptions, "layerAnnotations">,
): Promise<ReadArchiveResult> {
  for (const path of options.paths) statInput(path);
  try {
    return await readArchive({
      ...options,
      layerAnnotations({ config }, { digest }) {
        const value = config?.Labels?.[layerLabel(digest)];
        return value === undefined ? undefined : { [XPKG_KEY]: value };
      },
    });
  } catch (error) {
    if (error instanceof ImageError && WRONG_FILE.has(error.code))
      throw new InputError(error.message, { cause: error });
    throw error;
  }
}

/** The platform of an archive's image; undefined for a package without a runtime. */
export function archivePlatform(config: ImageConfig | undefined): Platform | undefined {
  const { os, architecture, variant } = config ?? {};
  if (!os || !architecture) return undefined;
  return { os, architecture, ...(variant && { variant }) };
}
