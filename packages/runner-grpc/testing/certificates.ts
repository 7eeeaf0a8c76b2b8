// X.509 certificates for tests, from Node's keys and signatures and the necessary DER (X.690, RFC 5280). They require
// no installed program, and the repository contains no certificate that could expire.
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** A certificate and its private key. */
export interface TestCertificate {
  readonly name: string;
  readonly cert: string;
  readonly key: string;
  readonly privateKey: KeyObject;
}

/** Creates a certificate authority. */
export function testAuthority(name: string): TestCertificate {
  return issue(name, undefined);
}

/** Creates a certificate for `localhost` and 127.0.0.1, issued by an authority. */
export function testCertificate(name: string, authority: TestCertificate): TestCertificate {
  return issue(name, authority);
}

const ECDSA_WITH_SHA256 = sequence(Buffer.from("06082a8648ce3d040302", "hex"));

function issue(name: string, issuer: TestCertificate | undefined): TestCertificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const critical = Buffer.from("0101ff", "hex");
  const extension =
    issuer === undefined
      ? // basicConstraints: a CA
        sequence(Buffer.from("0603551d13", "hex"), critical, der(0x04, sequence(critical)))
      : // subjectAltName: DNS:localhost, IP:127.0.0.1
        sequence(
          Buffer.from("0603551d11", "hex"),
          der(0x04, sequence(der(0x82, Buffer.from("localhost")), der(0x87, Buffer.from([127, 0, 0, 1])))),
        );
  const body = sequence(
    der(0xa0, Buffer.from("020102", "hex")),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    distinguishedName(issuer?.name ?? name),
    sequence(der(0x17, Buffer.from("200101000000Z")), der(0x17, Buffer.from("491231235959Z"))),
    distinguishedName(name),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(extension)),
  );
  const signature = sign("sha256", body, issuer?.privateKey ?? privateKey);
  const certificate = sequence(body, ECDSA_WITH_SHA256, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const cert = `-----BEGIN CERTIFICATE-----\n${certificate.toString("base64")}\n-----END CERTIFICATE-----\n`;
  return { name, cert, key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(), privateKey };
}

function distinguishedName(commonName: string): Buffer {
  return sequence(der(0x31, sequence(Buffer.from("0603550403", "hex"), der(0x0c, Buffer.from(commonName)))));
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function der(tag: number, content: Buffer): Buffer {
  const length = content.length;
  const header = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...header]), content]);
}
