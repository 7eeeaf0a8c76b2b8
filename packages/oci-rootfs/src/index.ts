/**
 * OCI images without a daemon: names, pulling, verified storage, safe unpacking, building, and the process that an
 * image describes. See README.md for examples.
 */
export type { BuildConfig } from "./build-config.ts";
export {
  type BuildIndexOptions,
  type BuildOptions,
  type BuiltImage,
  type BuiltIndex,
  buildImage,
  buildIndex,
  type ImageRecipe,
} from "./build-image.ts";
export type { BuildEntry, BuildLayer } from "./build-layer.ts";
export type { PruneOptions, PruneResult, StoredImage } from "./collect.ts";
export type { HelperOptions } from "./credential-helper.ts";
export { type CredentialRequest, type Credentials, firstCredentials } from "./credentials.ts";
export { type DockerCredentialsOptions, dockerCredentials, pullSecretCredentials } from "./docker-config.ts";
export { ImageError, type ImageErrorCode, type ImageErrorOptions, type ImageErrorPlace } from "./errors.ts";
export { flatten } from "./flatten.ts";
export { DEFAULT_LAYER_LIMITS, type LayerLimits } from "./layer-limits.ts";
export type { Owner } from "./layer-writer.ts";
export type { Descriptor, HistoryEntry, ImageConfig, Manifest } from "./manifest.ts";
export { hostPlatform, type Platform, parsePlatform, printPlatform } from "./platform.ts";
export { type ProcessConfig, processConfig } from "./process-config.ts";
export type { OnProgress, Progress } from "./progress.ts";
export { type ReadArchiveOptions, type ReadArchiveResult, readArchive } from "./read-archive.ts";
export { readImageFile, readImageManifest } from "./read-image.ts";
export { DEFAULT_REGISTRY, parseReference, type Reference } from "./reference.ts";
export type { RegistryAuth } from "./registry-auth.ts";
export type { RegistryOptions } from "./registry-options.ts";
export type { RetryOptions } from "./retry.ts";
export { type Image, type ImageOptions, openStore, type Store, type StoredName, type StoreOptions } from "./store.ts";
export type { ProcessUser } from "./user-files.ts";
export { type WriteArchiveOptions, writeArchive } from "./write-archive.ts";
