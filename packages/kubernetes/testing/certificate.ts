import { generateKeyPairSync, sign } from "node:crypto";

/** PEM texts of a self-signed certificate for 127.0.0.1 and localhost, and its key. */
export function selfSigned(): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const ecdsaSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
  const name = sequence(der(0x31, sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from("test")))));
  const names = sequence(der(0x82, Buffer.from("localhost")), der(0x87, Buffer.from([127, 0, 0, 1])));
  const authority = sequence(der(0x01, Buffer.from([0xff])));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaSha256,
    name,
    sequence(utcTime("200101000000Z"), utcTime("491231235959Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(
      0xa3,
      sequence(
        sequence(oid(0x55, 0x1d, 0x11), der(0x04, names)),
        sequence(oid(0x55, 0x1d, 0x13), der(0x04, authority)),
      ),
    ),
  );
  const signature = sign("sha256", body, privateKey);
  const certificate = sequence(body, ecdsaSha256, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const base64 = (certificate.toString("base64").match(/.{1,64}/g) ?? []).join("\n");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** ASN.1 in DER (X.690). */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function oid(...bytes: number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

function utcTime(text: string): Buffer {
  return der(0x17, Buffer.from(text));
}
