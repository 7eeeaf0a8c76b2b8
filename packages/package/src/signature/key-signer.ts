import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { SignatureError } from "../errors/signature-error.ts";
import type { Signer } from "./authority.ts";

/** The largest keys, of RSA with 16,384 bits, have some 3,000 characters. */
const MAX_KEY_CHARACTERS = 16_384;

/** NIST SP 800-131A disallows shorter keys. */
const MIN_RSA_BITS = 2048;

/** A longer key only takes more time to verify with. */
const MAX_RSA_BITS = 16_384;

const CURVES: ReadonlySet<string> = new Set(["prime256v1", "secp384r1", "secp521r1"]);

const HASHES: ReadonlySet<string> = new Set(["sha224", "sha256", "sha384", "sha512"]);

/**
 * Reads a public key in PEM: ECDSA on a NIST curve, RSA of at least 2048 bits (PKCS #1 v1.5), or Ed25519, as cosign
 * creates and accepts them.
 *
 * @param hash `sha224`, `sha256`, `sha384` or `sha512`; Ed25519 has its own
 * @throws {SignatureError} `InvalidKey`
 */
export function keySigner(pem: string, hash: string): Signer {
  const algorithm = hash.trim().toLowerCase();
  if (!HASHES.has(algorithm))
    throw invalid(`the hashAlgorithm ${JSON.stringify(hash)} is unknown; use sha256, or ${[...HASHES].join(", ")}`);
  if (pem.length > MAX_KEY_CHARACTERS) throw invalid(`it has more than ${MAX_KEY_CHARACTERS} characters`);
  // Node also derives a public key from a private one, and from a certificate, whose dates it ignores.
  if (!/^\s*-----BEGIN (?:RSA )?PUBLIC KEY-----/.test(pem))
    throw invalid("it is not a public key in PEM; use the file cosign.pub of `cosign generate-key-pair`");
  const key = parse(pem);
  const { asymmetricKeyType: type, asymmetricKeyDetails: { namedCurve = "", modulusLength = 0 } = {} } = key;
  if (type === "ec" && !CURVES.has(namedCurve)) throw invalid(`its curve ${namedCurve} is not P-256, P-384 or P-521`);
  if (type === "rsa" && (modulusLength < MIN_RSA_BITS || modulusLength > MAX_RSA_BITS))
    throw invalid(`it has ${modulusLength} bits, and must have ${MIN_RSA_BITS} to ${MAX_RSA_BITS}`);
  if (type !== "ec" && type !== "rsa" && type !== "ed25519")
    throw invalid(`its type ${String(type)} is not ECDSA, RSA or Ed25519`);
  const isOwn = (data: Buffer, signature: Buffer): boolean =>
    verify(type === "ed25519" ? null : algorithm, data, key, signature);
  return {
    problemOf: ({ signed, signatures }) =>
      signatures.some((one) => isOwn(signed, one)) ? undefined : "it is not signed by a key of the authorities",
  };
}

function parse(pem: string): KeyObject {
  try {
    return createPublicKey({ key: pem, format: "pem" });
  } catch (cause) {
    throw invalid("it is not a public key in PEM", cause);
  }
}

function invalid(problem: string, cause?: unknown): SignatureError {
  return new SignatureError("InvalidKey", problem, { cause });
}
