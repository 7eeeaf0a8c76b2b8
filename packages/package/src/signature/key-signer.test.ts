import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { expect, test } from "vitest";
import type { Signer } from "./authority.ts";
import { keySigner } from "./key-signer.ts";

const pem = (key: KeyObject, type: "spki" | "pkcs8" = "spki"): string =>
  key.export({ type, format: "pem" } as { type: "spki"; format: "pem" }).toString();
const ec = (namedCurve: string): { publicKey: KeyObject; privateKey: KeyObject } =>
  generateKeyPairSync("ec", { namedCurve });
const DATA = Buffer.from("data");
const isSigned = (signer: Signer, data: Buffer, ...signatures: Buffer[]): boolean =>
  signer.problemOf({ form: "claim", payload: data, signed: data, signatures, bundle: undefined }) === undefined;

test.each(["sha224", "sha256", "sha384", "SHA512"])("a key verifies with the hash %s, and with no other", (hash) => {
  const { publicKey, privateKey } = ec("P-384");
  const key = keySigner(pem(publicKey), hash);
  expect(isSigned(key, DATA, sign(hash, DATA, privateKey))).toBe(true);
  expect(isSigned(key, DATA, sign(hash === "sha256" ? "sha512" : "sha256", DATA, privateKey))).toBe(false);
  expect(isSigned(key, Buffer.from("Data"), sign(hash, DATA, privateKey))).toBe(false);
});

test("one of several signatures is enough, and none is too few", () => {
  const { publicKey, privateKey } = ec("P-256");
  const key = keySigner(pem(publicKey), "sha256");
  expect(isSigned(key, DATA, sign("sha256", DATA, ec("P-256").privateKey), sign("sha256", DATA, privateKey))).toBe(
    true,
  );
  expect(isSigned(key, DATA)).toBe(false);
});

test("other bytes do not count as a signature", () => {
  for (const { publicKey } of [
    ec("P-256"),
    generateKeyPairSync("rsa", { modulusLength: 2048 }),
    generateKeyPairSync("ed25519"),
  ]) {
    const key = keySigner(pem(publicKey), "sha256");
    for (const size of [0, 1, 64, 256, 10_000]) expect(isSigned(key, DATA, Buffer.alloc(size, 1))).toBe(false);
  }
});

test.each<[what: string, text: string, hash: string, problem: string]>([
  ["a private key", pem(ec("P-256").privateKey, "pkcs8"), "sha256", "not a public key"],
  [
    "text that is not a key",
    "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
    "sha256",
    "not a public key",
  ],
  ["no text", "", "sha256", "not a public key"],
  ["much text", `-----BEGIN PUBLIC KEY-----${"A".repeat(20_000)}`, "sha256", "more than 16384 characters"],
  ["an unusual curve", pem(ec("secp256k1").publicKey), "sha256", "secp256k1"],
  ["a short RSA key", pem(generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey), "sha256", "1024 bits"],
  ["a key for agreement", pem(generateKeyPairSync("x25519").publicKey), "sha256", "x25519"],
  ["a broken hash", pem(ec("P-256").publicKey), "sha1", "sha1"],
])("%s is refused", (_, text, hash, problem) => {
  expect(() => keySigner(text, hash)).toThrow(
    expect.objectContaining({ code: "InvalidKey", retryable: false, message: expect.stringContaining(problem) }),
  );
});
