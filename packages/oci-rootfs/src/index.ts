/**
 * OCI images without a daemon: names, pulling, verified storage, safe unpacking, building, and the process that an
 * image describes. See README.md for examples.
 */
export { type BuildConfig, type BuildOptions, type BuiltImage, buildImage } from "./build-image.ts";
export type { BuildEntry, BuildLayer } from "./build-layer.ts";
export { type CredentialRequest, type Credentials, firstCredentials } from "./credentials.ts";
export { ImageError, type ImageErrorCode, type ImageErrorOptions, type ImageErrorPlace } from "./errors.ts";
export { flatten } from "./flatten.ts";
export { DEFAULT_LAYER_LIMITS, type LayerLimits } from "./layer-limits.ts";
export type { Owner } from "./layer-writer.ts";
export type { Descriptor, HistoryEntry, ImageConfig } from "./manifest.ts";
export { hostPlatform, type Platform, parsePlatform, printPlatform } from "./platform.ts";
export { type ProcessConfig, processConfig } from "./process-config.ts";
export type { OnProgress, Progress } from "./progress.ts";
export { DEFAULT_REGISTRY, parseReference, type Reference } from "./reference.ts";
export type { RegistryAuth } from "./registry-auth.ts";
export type { RegistryOptions } from "./registry-options.ts";
export type { RetryOptions } from "./retry.ts";
export { type Image, type ImageOptions, openStore, type Store, type StoredName, type StoreOptions } from "./store.ts";
export type { ProcessUser } from "./user-files.ts";
