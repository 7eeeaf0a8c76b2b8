/** Media types of OCI image-spec 1.1 and of Docker's image manifest v2, schema 2. */
export const OCI_INDEX = "application/vnd.oci.image.index.v1+json";
export const OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json";
export const OCI_CONFIG = "application/vnd.oci.image.config.v1+json";
export const OCI_LAYER = "application/vnd.oci.image.layer.v1.tar";
export const OCI_LAYER_GZIP: string = `${OCI_LAYER}+gzip`;
export const OCI_LAYER_ZSTD: string = `${OCI_LAYER}+zstd`;
const DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json";
const DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json";
const DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json";

/** The `Accept` header of manifest requests. */
export const MANIFEST_TYPES: readonly string[] = [OCI_INDEX, OCI_MANIFEST, DOCKER_INDEX, DOCKER_MANIFEST];

export const INDEX_TYPES: ReadonlySet<string> = new Set([OCI_INDEX, DOCKER_INDEX]);
export const IMAGE_MANIFEST_TYPES: ReadonlySet<string> = new Set([OCI_MANIFEST, DOCKER_MANIFEST]);
export const CONFIG_TYPES: ReadonlySet<string> = new Set([OCI_CONFIG, DOCKER_CONFIG]);

/** The CNCF's layout of a WebAssembly module (https://tag-runtime.cncf.io/wgs/wasm/deliverables/wasm-oci-artifact/). */
export const WASM_CONFIG = "application/vnd.wasm.config.v0+json";
export const WASM_LAYER = "application/wasm";
/** Layers that are a module. The second one is that of wasm-to-oci. */
export const WASM_LAYER_TYPES: ReadonlySet<string> = new Set([
  WASM_LAYER,
  "application/vnd.wasm.content.layer.v1+wasm",
]);
/** Configs of images of one module: those of both layouts, and what general tools write. */
export const WASM_CONFIG_TYPES: ReadonlySet<string> = new Set([
  ...CONFIG_TYPES,
  WASM_CONFIG,
  "application/vnd.wasm.config.v1+json",
  "application/vnd.oci.empty.v1+json",
  "application/vnd.unknown.config.v1+json",
]);

/** Their first bytes identify the compression, because registries mislabel layers. Unknown types are still rejected. */
export const LAYER_TYPES: ReadonlySet<string> = new Set([
  OCI_LAYER,
  OCI_LAYER_GZIP,
  OCI_LAYER_ZSTD,
  "application/vnd.oci.image.layer.nondistributable.v1.tar",
  "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
  "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
  "application/vnd.docker.image.rootfs.diff.tar",
  "application/vnd.docker.image.rootfs.diff.tar.gzip",
  "application/vnd.docker.image.rootfs.diff.tar.zstd",
  "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
]);
