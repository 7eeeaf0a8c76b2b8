/**
 * Registries: copying and pushing images, and the client itself. A separate entry, so that programs that only run
 * stored images do not load an HTTP client. See README.md for examples.
 */

import "./base/require-node.ts";

export type { SourceManifest } from "./image/image-source.ts";
export type { Referrer } from "./image/registry-page.ts";
export type { BlobUpload, UploadOutcome } from "./registry/blob-upload.ts";
export { checkCredentials } from "./registry/check-credentials.ts";
export { RegistryClient } from "./registry/client.ts";
export { mirrorsOf } from "./registry/mirrors.ts";
export {
  type CredentialScope,
  removeCredentials,
  type StoreCredentialsOptions,
  storeCredentials,
} from "./registry/stored-credentials.ts";
export { RegistryWriter } from "./registry/writer.ts";
export { type CopiedImage, type CopyOptions, copyImage } from "./transfer/copy-image.ts";
export { type ArtifactFile, type ArtifactOptions, readArtifact } from "./transfer/read-artifact.ts";
export { type LayerFile, type LayerFileOptions, readLayerFile } from "./transfer/read-layer-file.ts";
