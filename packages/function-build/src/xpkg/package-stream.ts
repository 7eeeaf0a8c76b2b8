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

/** Where a package is looked for. */
export interface PackagePlace extends RegistryOptions {
  /** A name at a registry, of the store, or `oci:DIR[:TAG]`. */
  readonly from: string;
  readonly store: Store;
  /** The image as a whole, where no layer of it is the package's own. */
  readonly image: () => Promise<Image>;
  readonly signal: AbortSignal;
}

/**
 * A package's objects as it holds them: `package.yaml` of the layer that is annotated as the base - then nothing else is
 * fetched - or, where none is, of the image as a whole. Of an index, as Crossplane does, that of linux/amd64.
 *
 * @throws ImageError NotFound where there is no such file, InvalidManifest for two base layers
 */
export async function packageStream({ image, ...place }: PackagePlace): Promise<Uint8Array> {
  const { readLayerFile } = await import("@xfn/oci-rootfs/registry");
  const ofLayer = await readLayerFile({
    ...place,
    isLayer: ({ annotations }) => annotations?.[XPKG_KEY] === BASE_LAYER,
    path: STREAM_FILE,
    maxBytes: MAX_STREAM_BYTES,
    platform: parsePlatform("linux/amd64"),
  });
  const stream = ofLayer ?? readImageFile((await image()).layers, STREAM_FILE, MAX_STREAM_BYTES);
  if (stream === undefined)
    throw new ImageError("NotFound", `holds no ${STREAM_FILE}: it is no Crossplane package`, { image: place.from });
  return stream;
}
