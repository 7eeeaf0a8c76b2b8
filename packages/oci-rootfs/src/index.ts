/**
 * OCI images without a daemon: names, pulls, verified storage, safe unpacking, builds, and the process of an image. See
 * README.md for examples.
 */

import "./base/require-node.ts";

export type { RegistryAuth } from "@xfn/runner-contract";
export { ImageError, type ImageErrorCode, type ImageErrorLocation, type ImageErrorOptions } from "./base/errors.ts";
export { pidNamespace, processStartTime } from "./base/process-identity.ts";
export type { OnProgress, Progress } from "./base/progress.ts";
export type { RetryOptions } from "./base/retry.ts";
export type { BuildConfig } from "./build/build-config.ts";
export {
  type BuildIndexOptions,
  type BuildOptions,
  type BuiltImage,
  type BuiltIndex,
  buildImage,
  buildIndex,
  type ImageSpec,
  platformOf,
} from "./build/build-image.ts";
export type { BuildEntry, BuildLayer } from "./build/build-layer.ts";
export { type BuildModuleOptions, buildModule } from "./build/build-module.ts";
export {
  DEFAULT_REGISTRY,
  type ImageName,
  isLayoutName,
  type LayoutName,
  parseImageName,
  parseReference,
  parseRegistry,
  type Reference,
  tryParseImageName,
} from "./image/image-name.ts";
export type { Descriptor, HistoryEntry, ImageConfig, Manifest } from "./image/manifest.ts";
export { hostPlatform, isPortable, type Platform, parsePlatform, printPlatform } from "./image/platform.ts";
export type { Owner } from "./layer/layer-files.ts";
export { DEFAULT_LAYER_LIMITS, type LayerLimits } from "./layer/layer-limits.ts";
export {
  type RegistryAccess,
  type RegistryAccessFlags,
  readAuthorities,
  readRegistryAccess,
  readRegistryHost,
} from "./registry/access-values.ts";
export { type CredentialFile, credentialFiles } from "./registry/credential-files.ts";
export type { HelperOptions } from "./registry/credential-helper.ts";
export type { CredentialRequest, Credentials } from "./registry/credentials.ts";
export { type DockerCredentialsOptions, dockerCredentials } from "./registry/docker-config.ts";
export { MIRROR_FORM, parseMirrors } from "./registry/mirrors.ts";
export type { RegistryOptions } from "./registry/options.ts";
export type { PruneOptions, PruneResult, StoredImage } from "./store/collect.ts";
export { flatten } from "./store/flatten.ts";
export { type ProcessConfig, processConfig } from "./store/process-config.ts";
export { readImageFile, readImageManifest } from "./store/read-image.ts";
export type { Image, ImageOptions, Store, StoredName, StoreOptions } from "./store/store.ts";
export type { ProcessUser } from "./store/user-files.ts";
export { openStore } from "./transfer/open-store.ts";
export { type ReadArchiveOptions, type ReadArchiveResult, readArchive } from "./transfer/read-archive.ts";
export { type WriteArchiveOptions, writeArchive } from "./transfer/write-archive.ts";
