import {
  type Image,
  ImageError,
  parsePlatform,
  type RegistryOptions,
  readImageFile,
  type Store,
} from "@xfn/oci-rootfs";
import { BASE_LAYER, STREAM_FILE, XPKG_KEY } from "./xpkg-format.ts";

/** Crossplane's own limit for a package that it reads is 200 MB. */
const MAX_STREAM_BYTES = 200 * 1024 * 1024;

/** The location of a package. */
export interface PackageLocation extends RegistryOptions {
  /** A name at a registry, of the store, or `oci:DIR[:TAG]`. */
  readonly from: string;
  readonly store: Store;
  /** Pulls the whole image; used if no layer is annotated as the base. */
  readonly image: () => Promise<Image>;
  readonly signal: AbortSignal;
}

/**
 * Reads the objects of a package: `package.yaml` of the layer that is annotated as the base, else of the whole image.
 * If there is such a layer, only that is fetched. From an index, it takes linux/amd64, as Crossplane does.
 *
 * @throws ImageError NotFound without such a file, InvalidManifest for two base layers
 */
export async function packageStream({ image, ...location }: PackageLocation): Promise<Uint8Array> {
  const { readLayerFile } = await import("@xfn/oci-rootfs/registry");
  const ofLayer = await readLayerFile({
    ...location,
    isLayer: ({ annotations }) => annotations?.[XPKG_KEY] === BASE_LAYER,
    path: STREAM_FILE,
    maxBytes: MAX_STREAM_BYTES,
    platform: parsePlatform("linux/amd64"),
  });
  const stream = ofLayer ?? readImageFile((await image()).layers, STREAM_FILE, MAX_STREAM_BYTES);
  if (stream === undefined)
    throw new ImageError("NotFound", `has no ${STREAM_FILE}: it is not a Crossplane package`, { image: location.from });
  return stream;
}
