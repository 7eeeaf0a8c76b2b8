import { createHash } from "node:crypto";
import { isObject, type JsonObject, objectAt, textAt } from "@xfn/json";
import type { ArtifactFile } from "@xfn/oci-rootfs/registry";
import { readJson } from "./read-json.ts";

/** Layers of the tag `sha256-HEX.sig` (cosign 1 and 2, containers/image). */
export const SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json";

/** Layers of the tag `sha256-HEX.att` (cosign 1 and 2). */
export const ENVELOPE = "application/vnd.dsse.envelope.v1+json";

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

/** A signature in any of these forms, which is not verified yet. */
export interface SignedFile {
  /** A claim in the form "simple signing", or an in-toto statement. Only for use after the signature was verified. */
  readonly form: "claim" | "statement";
  readonly payload: Buffer;
  /** The bytes that are signed. */
  readonly signed: Buffer;
  readonly signatures: readonly Buffer[];
  /** The bundle of Sigstore with the certificate of the signer; undefined for signatures without one. */
  readonly bundle: JsonObject | undefined;
}

/** Reads a file of a signature. @returns why it is not one, if it is not */
export function readSignedFile({ mediaType, annotations, content }: ArtifactFile): SignedFile | string {
  if (mediaType === BUNDLE) {
    const json = readJson(content);
    const { dsseEnvelope = null } = json;
    const verificationMaterial = objectAt(json, "verificationMaterial");
    const isCertified = ["certificate", "x509CertificateChain"].some((field) => isObject(verificationMaterial[field]));
    // Without its other fields: a bundle could have a second content, with a signature of its own.
    const bundle = isCertified
      ? { mediaType: textAt(json, "mediaType") ?? "", dsseEnvelope, verificationMaterial }
      : undefined;
    return readEnvelope(dsseEnvelope, bundle);
  }
  const material = verificationMaterial(annotations);
  if (mediaType === ENVELOPE) {
    const dsseEnvelope = readJson(content);
    return readEnvelope(dsseEnvelope, material && { ...material, dsseEnvelope });
  }
  const signature = annotations[`${COSIGN}/signature`];
  if (signature === undefined) return "it has no signature";
  const digest = createHash("sha256").update(content).digest("base64");
  const messageSignature = { messageDigest: { algorithm: "SHA2_256", digest }, signature };
  return {
    form: "claim",
    payload: content,
    signed: content,
    signatures: [Buffer.from(signature, "base64")],
    bundle: material && { ...material, messageSignature },
  };
}

const COSIGN = "dev.cosignproject.cosign";
const SIGSTORE = "dev.sigstore.cosign";
const STATEMENT_TYPE = "application/vnd.in-toto+json";

/** cosign writes one. */
const MAX_ENVELOPE_SIGNATURES = 10;

/** https://github.com/sigstore/protobuf-specs/blob/main/protos/envelope.proto */
function readEnvelope(envelope: unknown, bundle: JsonObject | undefined): SignedFile | string {
  if (!isObject(envelope)) return "the bundle has no DSSE envelope";
  const { payload, payloadType, signatures } = envelope;
  if (typeof payload !== "string" || payloadType !== STATEMENT_TYPE) return "the bundle has no in-toto statement";
  const body = Buffer.from(payload, "base64");
  const own = (Array.isArray(signatures) ? signatures : []).slice(0, MAX_ENVELOPE_SIGNATURES);
  return {
    form: "statement",
    payload: body,
    signed: preAuthentication(payloadType, body),
    signatures: own.map((one) => Buffer.from(textAt(one, "sig") ?? "", "base64")),
    bundle,
  };
}

/** The signed bytes of a DSSE envelope (https://github.com/secure-systems-lab/dsse/blob/master/protocol.md). */
function preAuthentication(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${body.length} `), body]);
}

/**
 * The start of a bundle from the annotations of cosign 1 and 2: the certificate, the entry of the transparency log, and
 * the time stamp.
 *
 * @see https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
 */
function verificationMaterial(annotations: Readonly<Record<string, string>>): JsonObject | undefined {
  const pem = annotations[`${SIGSTORE}/certificate`];
  if (pem === undefined) return undefined;
  const certificates = [{ rawBytes: pem.replace(/-----(?:BEGIN|END) CERTIFICATE-----|\s/g, "") }];
  const entry = jsonIn(annotations[`${SIGSTORE}/bundle`]);
  const signedTimestamp = textAt(jsonIn(annotations[`${SIGSTORE}/rfc3161timestamp`]), "SignedRFC3161Timestamp");
  return {
    mediaType: "application/vnd.dev.sigstore.bundle+json;version=0.1",
    verificationMaterial: {
      x509CertificateChain: { certificates },
      tlogEntries: Object.keys(entry).length === 0 ? [] : [logEntry(entry)],
      ...(signedTimestamp !== undefined && {
        timestampVerificationData: { rfc3161Timestamps: [{ signedTimestamp }] },
      }),
    },
  };
}

function logEntry(entry: JsonObject): JsonObject {
  const { integratedTime = null, logIndex = null } = objectAt(entry, "Payload");
  const canonicalizedBody = textAt(entry, "Payload", "body") ?? "";
  const { kind = "", apiVersion = "" } = jsonIn(Buffer.from(canonicalizedBody, "base64"));
  return {
    logIndex: JSON.stringify(logIndex),
    logId: { keyId: Buffer.from(textAt(entry, "Payload", "logID") ?? "", "hex").toString("base64") },
    kindVersion: { kind, version: apiVersion },
    integratedTime: JSON.stringify(integratedTime),
    inclusionPromise: { signedEntryTimestamp: textAt(entry, "SignedEntryTimestamp") ?? "" },
    canonicalizedBody,
  };
}

function jsonIn(text: string | Buffer = ""): JsonObject {
  return readJson(Buffer.from(text));
}
