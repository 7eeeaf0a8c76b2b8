import type { KeyObject } from "node:crypto";
import { parseReference, type RegistryOptions } from "@xfn/oci-rootfs";
import {
  type Claim,
  MANIFEST,
  pushArtifact,
  SIMPLE_SIGNING,
  type SignatureFile,
} from "../../scripts/release/image-signature.ts";
import { signed } from "../../scripts/release/signed.ts";

export {
  attachSignatures,
  type Claim,
  type SignatureFile,
  simpleSignature,
} from "../../scripts/release/image-signature.ts";

// Signatures as cosign writes them, at a real registry.

const BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json";
const STATEMENT = "application/vnd.in-toto+json";

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
  const bytes = Buffer.from(`DSSEv1 ${STATEMENT.length} ${STATEMENT} ${body.length} ${body.toString()}`);
  const bundle = {
    mediaType: BUNDLE,
    verificationMaterial: { publicKey: { hint: "key" } },
    dsseEnvelope: {
      payload: body.toString("base64"),
      payloadType: STATEMENT,
      signatures: [{ sig: signed(key, bytes) }],
    },
  };
  return { content: Buffer.from(JSON.stringify(bundle)) };
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
