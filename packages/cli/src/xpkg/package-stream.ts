import { type Image, ImageError, readImageFile, readImageManifest, type Store } from "@xfn/oci-rootfs";
import { BASE_LAYER, STREAM_FILE, XPKG_KEY } from "./xpkg-format.ts";

/** Crossplane's own limit for a package that it reads is 200 MB. */
const MAX_STREAM_BYTES = 200 * 1024 * 1024;

/**
 * A package's objects as it holds them: `package.yaml` of the layer that is annotated as the base, or, where none is, of the
 * image as a whole.
 *
 * @throws ImageError NotFound where there is no such file, InvalidManifest for two base layers
 */
export function packageStream(store: Store, image: Image): Uint8Array {
  const { layers } = readImageManifest(store, image);
  const bases = layers.flatMap(({ annotations }, at) => (annotations?.[XPKG_KEY] === BASE_LAYER ? [at] : []));
  const [base, second] = bases;
  if (second !== undefined)
    throw new ImageError("InvalidManifest", `${bases.length} layers say that they are the package's base`, {
      image: image.name,
    });
  // An image in which a layer occurs twice has fewer folders than layers.
  const folder = base === undefined || layers.length !== image.layers.length ? undefined : image.layers[base];
  const stream = readImageFile(folder === undefined ? image.layers : [folder], STREAM_FILE, MAX_STREAM_BYTES);
  if (stream === undefined)
    throw new ImageError("NotFound", `holds no ${STREAM_FILE}: it is no Crossplane package`, { image: image.name });
  return stream;
}
