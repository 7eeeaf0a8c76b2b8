// Signatures of images as cosign writes them.
import { createHash, type KeyObject } from "node:crypto";
import { Readable } from "node:stream";
import { parseReference, type RegistryOptions } from "@xfn/oci-rootfs";
import { RegistryWriter } from "@xfn/oci-rootfs/registry";
import { signed } from "./signed.ts";

export const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
export const SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json";

/** A file of a signature's artifact. */
export interface SignatureFile {
  readonly content: Buffer;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Claims of a signature, for tests. Absent claims are right. */
export interface Claim {
  readonly digest?: string;
  readonly repository?: string;
  readonly type?: string;
  readonly predicateType?: string;
}

/** A signature in the form of cosign 1 and 2. @param image with its digest */
export function simpleSignature(image: string, key: KeyObject, claim: Claim = {}): SignatureFile {
  const { registry, repository, digest } = parseReference(image);
  const payload = {
    critical: {
      identity: { "docker-reference": claim.repository ?? `${registry}/${repository}` },
      image: { "docker-manifest-digest": claim.digest ?? digest },
      type: claim.type ?? "cosign container image signature",
    },
    optional: null,
  };
  const content = Buffer.from(JSON.stringify(payload));
  const text = signed(key, content);
  return { content, annotations: { "dev.cosignproject.cosign/signature": text } };
}

/** Pushes signatures to the tag of an image, in place of those that it has. @param image with its digest */
export async function attachSignatures(
  image: string,
  files: readonly SignatureFile[],
  options: RegistryOptions,
): Promise<void> {
  const tag = `${(parseReference(image).digest ?? "").replace(":", "-")}.sig`;
  await pushArtifact(image, { files, mediaType: SIMPLE_SIGNING, tag }, options);
}

interface Artifact {
  readonly files: readonly SignatureFile[];
  readonly mediaType: string;
  readonly configType?: string;
  readonly tag?: string;
  readonly fields?: object;
}

/** Pushes an artifact to the repository of an image. */
export async function pushArtifact(image: string, artifact: Artifact, options: RegistryOptions): Promise<void> {
  const { files, mediaType, configType = "application/vnd.oci.image.config.v1+json", tag, fields } = artifact;
  const { signal } = new AbortController();
  const writer = new RegistryWriter(parseReference(image), options);
  const push = async (content: Buffer, type: string): Promise<Descriptor> => {
    const descriptor = descriptorOf(content, type);
    const open = async (): Promise<AsyncIterable<Uint8Array>> => Readable.from([content]);
    await writer.blob({ descriptor, open, signal });
    return descriptor;
  };
  try {
    const config = await push(Buffer.from("{}"), configType);
    const layers: object[] = [];
    for (const { content, annotations } of files) layers.push({ ...(await push(content, mediaType)), annotations });
    const manifest = { schemaVersion: 2, mediaType: MANIFEST, ...fields, config, layers };
    const bytes = Buffer.from(JSON.stringify(manifest));
    await writer.manifest(descriptorOf(bytes, MANIFEST), bytes, tag, signal);
  } finally {
    await writer.close();
  }
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

function descriptorOf(content: Buffer, mediaType: string): Descriptor {
  const digest = `sha256:${createHash("sha256").update(content).digest("hex")}`;
  return { mediaType, digest, size: content.length };
}
