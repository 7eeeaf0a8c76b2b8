import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

export interface TestImage {
  readonly manifest: { digest: string; size: number; mediaType: string };
  /** Contents by digest: manifest, config and layers. */
  readonly blobs: Map<string, Buffer>;
  readonly layers: readonly { digest: string; size: number; mediaType: string }[];
  readonly config: { digest: string; size: number; mediaType: string };
}

export interface TestImageOptions {
  config?: object;
  platform?: { os?: string; architecture?: string; variant?: string };
  /** The compression of layers; default gzip. */
  pack?: (archive: Buffer) => Buffer;
  layerType?: string;
  /** Replaces the DiffIDs in the config. */
  diffIds?: string[];
}

export const sha256 = (bytes: Uint8Array | string): string =>
  `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

const ARCHITECTURE: Record<string, string> = { x64: "amd64", arm64: "arm64" };
export const HOST = { os: "linux", architecture: ARCHITECTURE[process.arch] ?? process.arch };

/** Builds an image of these archives, with correct digests by default. */
export function testImage(archives: readonly Buffer[], options: TestImageOptions = {}): TestImage {
  const blobs = new Map<string, Buffer>();
  const add = (bytes: Buffer, mediaType: string) => {
    const digest = sha256(bytes);
    blobs.set(digest, bytes);
    return { mediaType, digest, size: bytes.length };
  };
  const pack = options.pack ?? ((archive) => gzipSync(archive, { level: 1 }));
  const layerType = options.layerType ?? "application/vnd.oci.image.layer.v1.tar+gzip";
  const layers = archives.map((archive) => add(pack(archive), layerType));
  const config = {
    ...HOST,
    ...options.platform,
    config: options.config ?? { Entrypoint: ["/run"] },
    rootfs: { type: "layers", diff_ids: options.diffIds ?? archives.map(sha256) },
  };
  const configDescriptor = add(Buffer.from(JSON.stringify(config)), "application/vnd.oci.image.config.v1+json");
  const mediaType = "application/vnd.oci.image.manifest.v1+json";
  const manifest = add(
    Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, config: configDescriptor, layers })),
    mediaType,
  );
  return { manifest, blobs, layers, config: configDescriptor };
}

/** Writes a layout with the image under the tag `t`. */
export function writeLayout(dir: string, image: TestImage, entries?: object[]): string {
  mkdirSync(join(dir, "blobs", "sha256"), { recursive: true });
  for (const [digest, bytes] of image.blobs) writeFileSync(join(dir, "blobs", "sha256", digest.slice(7)), bytes);
  writeFileSync(join(dir, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  const tagged = { ...image.manifest, annotations: { "org.opencontainers.image.ref.name": "t" } };
  writeFileSync(join(dir, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: entries ?? [tagged] }));
  return `oci:${dir}:t`;
}
