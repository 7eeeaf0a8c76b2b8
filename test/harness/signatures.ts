import { createHash, type KeyObject, sign } from "node:crypto";
import { Readable } from "node:stream";
import { parseReference, type RegistryOptions } from "@xfn/oci-rootfs";
import { RegistryWriter } from "@xfn/oci-rootfs/registry";

// Signatures as cosign writes them, at a real registry.

const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json";
const BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json";
const STATEMENT = "application/vnd.in-toto+json";

/** A file of a signature's artifact. */
export interface SignatureFile {
  readonly content: Buffer;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Wrong claims of a signature. Absent claims are right. */
export interface Claim {
  readonly digest?: string;
  readonly repository?: string;
  readonly type?: string;
  readonly predicateType?: string;
}

const hashOf = (key: KeyObject): string | null => (key.asymmetricKeyType === "ed25519" ? null : "sha256");

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
  const signature = sign(hashOf(key), content, key).toString("base64");
  return { content, annotations: { "dev.cosignproject.cosign/signature": signature } };
}

/** A signature in the form of cosign 3: a bundle with an in-toto statement. @param image with its digest */
export function bundleSignature(image: string, key: KeyObject, claim: Claim = {}): SignatureFile {
  const digest = claim.digest ?? parseReference(image).digest ?? "";
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: [{ digest: { sha256: digest.replace("sha256:", "") } }],
    predicateType: claim.predicateType ?? "https://sigstore.dev/cosign/sign/v1",
    predicate: {},
  };
  const body = Buffer.from(JSON.stringify(statement));
  const signed = Buffer.from(`DSSEv1 ${STATEMENT.length} ${STATEMENT} ${body.length} ${body.toString()}`);
  const bundle = {
    mediaType: BUNDLE,
    verificationMaterial: { publicKey: { hint: "key" } },
    dsseEnvelope: {
      payload: body.toString("base64"),
      payloadType: STATEMENT,
      signatures: [{ sig: sign(hashOf(key), signed, key).toString("base64") }],
    },
  };
  return { content: Buffer.from(JSON.stringify(bundle)) };
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

/** Pushes a bundle that refers to an image. @param image with its digest */
export async function attachBundle(
  image: string,
  file: SignatureFile,
  subjectBytes: number,
  options: RegistryOptions,
): Promise<void> {
  const { digest = "" } = parseReference(image);
  const subject = { mediaType: MANIFEST, digest, size: subjectBytes };
  await pushArtifact(image, { files: [file], mediaType: BUNDLE, fields: { artifactType: BUNDLE, subject } }, options);
}

/**
 * Pushes a signature that refers to an image as cosign 2 does at a registry without the referrers API: the index of
 * referrers has the type of its config. @param image with its digest
 */
export async function attachReferrer(
  image: string,
  file: SignatureFile,
  { configType, subjectBytes }: { readonly configType: string; readonly subjectBytes: number },
  options: RegistryOptions,
): Promise<void> {
  const { digest = "" } = parseReference(image);
  const subject = { mediaType: MANIFEST, digest, size: subjectBytes };
  const mediaType = file.annotations === undefined ? BUNDLE : SIMPLE_SIGNING;
  await pushArtifact(image, { files: [file], mediaType, configType, fields: { subject } }, options);
}

interface Artifact {
  readonly files: readonly SignatureFile[];
  readonly mediaType: string;
  readonly configType?: string;
  readonly tag?: string;
  readonly fields?: object;
}

async function pushArtifact(image: string, artifact: Artifact, options: RegistryOptions): Promise<void> {
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
