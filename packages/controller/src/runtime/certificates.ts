import { createPrivateKey, KeyObject, randomBytes, webcrypto, X509Certificate } from "node:crypto";
import { isIP } from "node:net";

// Certificates of runtimes. node:crypto reads X.509 and cannot sign it; @peculiar/x509 does, and is loaded only then.

/** A certificate and its private key, in PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** The usage and the names of a new certificate. */
export interface CertificateRequest {
  readonly usage: "server" | "client";
  /** DNS names and IP addresses. The first is the common name. */
  readonly names: readonly [string, ...string[]];
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Each renewal replaces the pods of a runtime: most servers of functions read their certificate once. */
const LEAF_MS = 365 * DAY_MS;
const AUTHORITY_MS = 5 * LEAF_MS;
/** Clocks of nodes differ. */
const SKEW_MS = 60 * 60 * 1000;
/** Part of its lifetime that a certificate has left when it is renewed. */
const RENEWAL_PART = 1 / 3;

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** OIDs of RFC 5280, "Extended Key Usage". */
const USAGES = { server: "1.3.6.1.5.5.7.3.1", client: "1.3.6.1.5.5.7.3.2" } as const;

/** Creates a certificate authority. @param now milliseconds since the epoch */
export async function createAuthority(now: number): Promise<KeyPair> {
  const x509 = await library();
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const serialNumber = newSerial();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    // Authorities that are trusted at the same time have different names.
    name: [{ CN: [`xfn-runtime-ca-${serialNumber.slice(0, 8)}`] }],
    keys,
    serialNumber,
    notBefore: new Date(now - SKEW_MS),
    notAfter: new Date(now + AUTHORITY_MS),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: pem(certificate.toString("pem")), key: printKey(keys.privateKey) };
}

/**
 * Issues a certificate with a new key. It does not outlive its authority.
 *
 * @throws {Error} if the authority's certificate or key cannot be used
 */
export async function issueCertificate(
  authority: KeyPair,
  { usage, names }: CertificateRequest,
  now: number,
): Promise<KeyPair> {
  const x509 = await library();
  const issuer = new x509.X509Certificate(authority.cert);
  const signingKey = createPrivateKey(authority.key).toCryptoKey(ALGORITHM, false, ["sign"]);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [{ CN: [names[0].slice(0, MAX_COMMON_NAME)] }],
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    serialNumber: newSerial(),
    notBefore: new Date(now - SKEW_MS),
    notAfter: new Date(Math.min(now + LEAF_MS, issuer.notAfter.getTime())),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([USAGES[usage]]),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? "dns" : "ip", value })),
      ),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return { cert: pem(certificate.toString("pem")), key: printKey(keys.privateKey) };
}

/** RFC 5280, `ub-common-name`. */
const MAX_COMMON_NAME = 64;

/** Whether a certificate must be renewed: less than a third of its lifetime is left, or it cannot be read. */
export function isDue(cert: string, now: number): boolean {
  const parsed = parse(cert);
  if (parsed === undefined) return true;
  const [from, to] = [parsed.validFromDate.getTime(), parsed.validToDate.getTime()];
  return to - now < (to - from) * RENEWAL_PART;
}

/** Whether a certificate is no longer valid, or cannot be read. */
export function isExpired(cert: string, now: number): boolean {
  const parsed = parse(cert);
  return parsed === undefined || parsed.validToDate.getTime() <= now;
}

/** Whether an authority signed a certificate. */
export function isIssuedBy(cert: string, authority: string): boolean {
  const [signed, signer] = [parse(cert), parse(authority)];
  return signed !== undefined && signer !== undefined && signed.verify(signer.publicKey);
}

/** Whether a certificate and a private key belong together. */
export function isPair({ cert, key }: KeyPair): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

/** Whether a certificate is valid for each of these DNS names and IP addresses. */
export function hasNames(cert: string, names: readonly string[]): boolean {
  const parsed = parse(cert);
  if (parsed === undefined) return false;
  return names.every((name) => (isIP(name) === 0 ? parsed.checkHost(name) : parsed.checkIP(name)) !== undefined);
}

/** The certificates of a bundle, in PEM. */
export function certificatesIn(bundle: string): string[] {
  return (bundle.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []).map(pem);
}

function parse(cert: string): X509Certificate | undefined {
  try {
    return new X509Certificate(cert);
  } catch {
    return undefined;
  }
}

/** A positive number of 16 bytes (RFC 5280, "Serial Number"), in hexadecimal. */
function newSerial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString("hex");
}

function printKey(key: webcrypto.CryptoKey): string {
  return KeyObject.from(key).export({ type: "pkcs8", format: "pem" }).toString();
}

function pem(text: string): string {
  return `${text.trim()}\n`;
}

async function library(): Promise<typeof import("@peculiar/x509")> {
  // The library's dependency injection needs it.
  await import("reflect-metadata");
  return await import("@peculiar/x509");
}
