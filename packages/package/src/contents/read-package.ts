import { ImageError, parsePlatform, type RegistryOptions, type Store } from "@xfn/oci-rootfs";
import { PackageError } from "../errors/package-error.ts";
import type { PackageKind } from "../kind/package-kind.ts";
import { BASE_LAYER, STREAM_FILE, XPKG_KEY } from "../kind/xpkg-format.ts";
import type { PackageContents } from "./check-package.ts";
import { parsePackage } from "./parse-package.ts";

/** Crossplane's own limit for a package that it reads is 200 MB. */
const MAX_STREAM_BYTES = 200 * 1024 * 1024;

/** Text that becomes objects in memory. The largest providers had 40 MiB. */
const MAX_PARSED_BYTES = 64 * 1024 * 1024;

export interface PackageLocation extends RegistryOptions {
  /** A name at a registry, of the store, or `oci:DIR[:TAG]`. */
  readonly from: string;
  /** For names of the store. */
  readonly store?: Store | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** `package.yaml` of an image. */
export interface PackageStream {
  /** The digest of the image's manifest or index. */
  readonly digest: string;
  readonly content: Uint8Array;
}

/** A package that was read. */
export interface ReadPackage extends PackageContents {
  /** The digest of the image's manifest or index. */
  readonly digest: string;
}

/**
 * Reads the objects of a package: `package.yaml` of the layer that is annotated as the base, else of the whole image.
 * If there is such a layer, only that is fetched. From an index, it takes linux/amd64, as Crossplane does: the objects
 * are the same for all platforms.
 *
 * @throws PackageError `NoPackageFile`, `SeveralPackageFiles`
 * @throws ImageError
 */
export async function readPackageStream(location: PackageLocation): Promise<PackageStream> {
  return await readStream(location, MAX_STREAM_BYTES);
}

/**
 * Reads and checks a package.
 *
 * @param kind - another kind is an error
 * @throws PackageError
 * @throws ImageError
 */
export async function readPackage(
  location: PackageLocation,
  options: { readonly kind?: PackageKind | undefined } = {},
): Promise<ReadPackage> {
  const { digest, content } = await readStream(location, MAX_PARSED_BYTES);
  return { ...(await parsePackage(content, { ...options, package: location.from })), digest };
}

async function readStream(location: PackageLocation, maxBytes: number): Promise<PackageStream> {
  const { readLayerFile } = await import("@xfn/oci-rootfs/registry");
  let bases = 0;
  try {
    const { digest, content } = await readLayerFile({
      ...location,
      isLayer({ annotations }) {
        const isBase = annotations?.[XPKG_KEY] === BASE_LAYER;
        if (isBase) bases += 1;
        return isBase;
      },
      path: STREAM_FILE,
      maxBytes,
      platform: parsePlatform("linux/amd64"),
    });
    if (content !== undefined) return { digest, content };
  } catch (error) {
    if (bases < 2 || !(error instanceof ImageError)) throw error;
    const problem = `has ${bases} layers with the annotation ${XPKG_KEY}: ${BASE_LAYER}, and may have one`;
    const parts = { package: location.from, remedy: "build it again with `xfn xpkg build`", cause: error };
    throw new PackageError("SeveralPackageFiles", problem, parts);
  }
  throw new PackageError("NoPackageFile", `has no ${STREAM_FILE}, so it is not a Crossplane package`, {
    package: location.from,
    remedy: "name a package, such as one of `xfn xpkg build`",
  });
}
