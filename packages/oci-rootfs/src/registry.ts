/**
 * Registries: copying and pushing images, and the client by itself. Apart from `.`, so that who only runs images that are there
 * does not load an HTTP client. See README.md for examples.
 */
export type { BlobUpload, UploadOutcome } from "./blob-upload.ts";
export { type CopiedImage, type CopyOptions, copyImage } from "./copy-image.ts";
export type { SourceManifest } from "./image-source.ts";
export { type LayerFileOptions, readLayerFile } from "./read-layer-file.ts";
export { type Referrer, RegistryClient } from "./registry-client.ts";
export { RegistryWriter } from "./registry-writer.ts";
