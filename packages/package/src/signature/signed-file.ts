import { isObject } from "@xfn/json";
import type { ArtifactFile } from "@xfn/oci-rootfs/registry";
import { readJson } from "./read-json.ts";
import { claimProblem, type SignedImage, statementProblem } from "./signed-claim.ts";
import type { TrustedKey } from "./trusted-key.ts";

/** Layers of the tag `sha256-HEX.sig` (cosign 1 and 2, containers/image). */
export const SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json";

/** Referrers of cosign 3. */
export const BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json";

/**
 * The types that an index of referrers has for signatures. At a registry without the referrers API, cosign 2.6 writes
 * the type of the empty config for its bundles. With `--registry-referrers-mode=oci-1-1`, cosign 2 writes its own type.
 */
export const SIGNATURE_TYPES: ReadonlySet<string | undefined> = new Set([
  BUNDLE,
  "application/vnd.oci.empty.v1+json",
  "application/vnd.dev.cosign.artifact.sig.v1+json",
]);

const SIGNATURE_ANNOTATION = "dev.cosignproject.cosign/signature";
const STATEMENT_TYPE = "application/vnd.in-toto+json";

/**
 * Why a file is not a signature of an image by one of the keys; undefined if it is. A payload is read only after its
 * signature was verified.
 */
export function fileProblem(file: ArtifactFile, keys: readonly TrustedKey[], image: SignedImage): string | undefined {
  return file.mediaType === BUNDLE ? bundleProblem(file, keys, image) : simpleProblem(file, keys, image);
}

function simpleProblem(
  { annotations, content }: ArtifactFile,
  keys: readonly TrustedKey[],
  image: SignedImage,
): string | undefined {
  const signature = annotations[SIGNATURE_ANNOTATION];
  if (signature === undefined) return "it has no signature";
  if (!isSigned(content, signature, keys)) return NOT_SIGNED;
  return claimProblem(content, image);
}

/** https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_bundle.proto */
function bundleProblem({ content }: ArtifactFile, keys: readonly TrustedKey[], image: SignedImage): string | undefined {
  const { dsseEnvelope: envelope } = readJson(content);
  if (!isObject(envelope)) return "the bundle has no DSSE envelope";
  const { payload, payloadType, signatures } = envelope;
  if (typeof payload !== "string" || payloadType !== STATEMENT_TYPE) return "the bundle has no in-toto statement";
  const body = Buffer.from(payload, "base64");
  const signed = preAuthentication(payloadType, body);
  const own = (Array.isArray(signatures) ? signatures : []).slice(0, MAX_ENVELOPE_SIGNATURES);
  if (!own.some((one) => isObject(one) && typeof one["sig"] === "string" && isSigned(signed, one["sig"], keys)))
    return NOT_SIGNED;
  return statementProblem(body, image);
}

const NOT_SIGNED = "it is not signed by a key of the authorities";

/** cosign writes one. */
const MAX_ENVELOPE_SIGNATURES = 10;

function isSigned(data: Uint8Array, signature: string, keys: readonly TrustedKey[]): boolean {
  const bytes = Buffer.from(signature, "base64");
  return keys.some((key) => key.signed(data, bytes));
}

/** The signed bytes of a DSSE envelope (https://github.com/secure-systems-lab/dsse/blob/master/protocol.md). */
function preAuthentication(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${body.length} `), body]);
}
