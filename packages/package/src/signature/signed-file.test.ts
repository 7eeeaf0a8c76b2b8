import { describe, expect, test } from "vitest";
import { BUNDLE, fileProblem, SIMPLE_SIGNING } from "./signed-file.ts";
import { readTrustedKey } from "./trusted-key.ts";

// The signatures were made once with openssl: `openssl ecparam -name prime256v1 -genkey -noout -out key.pem`, then
// `openssl dgst -sha256 -sign key.pem FILE | base64 -w0` for a FILE with the signed bytes that each constant names.

const KEY = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEAPjnys/1vXHniIiKQCRStsRRxMKW
oOavGio+/JMle+qcEoBz8Kyx0k5ZzQiQwrqA7Jwll0B4/MuF1BOEgrra/A==
-----END PUBLIC KEY-----`;
const DIGEST = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const IMAGE = { digest: DIGEST, repositories: ["registry.example.org/acme/fn"] };
const keys = [readTrustedKey("acme", KEY, "sha256")];

const STATEMENT = `{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"registry.example.org/acme/fn","digest":{"sha256":"${DIGEST.slice(7)}"}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}`;
/** Signs `DSSEv1 28 application/vnd.in-toto+json 251 STATEMENT`, which is DSSE's pre-authentication encoding. */
const OF_ENVELOPE = "MEQCIG0HreM8zgGQxeLKWVvaVqucY9/hWdNgEInKOO/4cLR6AiA+tHIONiMuNcJLCEcvwpb7vMrzY7AjjUWKEU5PFtbIDA==";
/** Signs STATEMENT alone. */
const OF_STATEMENT = "MEUCIG8IFHyvgpilyeNbtk/voQSJ1+dcwcKrKVJh4tGJuC9tAiEAr81dfyhXksHzBBNXECXJetlMuTBs1DIv3t3mjeFDKJE=";

const CLAIM = `{"critical":{"identity":{"docker-reference":"registry.example.org/acme/fn"},"image":{"docker-manifest-digest":"${DIGEST}"},"type":"cosign container image signature"},"optional":null}`;
/** Signs CLAIM. */
const OF_CLAIM = "MEUCIBb3z5M/Eo5RY3oHfUeKsPz9cVYp/VajhqRm+VHBlj5bAiEA/avfyPgIrf4BchZ8evPODKzi2pl5zBTiZ15hWEAO8xo=";

const bundle = (sig: string, statement = STATEMENT, payloadType = "application/vnd.in-toto+json") => ({
  mediaType: BUNDLE,
  annotations: {},
  content: Buffer.from(
    JSON.stringify({
      dsseEnvelope: { payload: Buffer.from(statement).toString("base64"), payloadType, signatures: [{ sig }] },
    }),
  ),
});

const simple = (signature: string | undefined, claim = CLAIM) => ({
  mediaType: SIMPLE_SIGNING,
  annotations: signature === undefined ? {} : { "dev.cosignproject.cosign/signature": signature },
  content: Buffer.from(claim),
});

describe("a bundle", () => {
  test("is a signature if the key signed its type and its statement together", () => {
    expect(fileProblem(bundle(OF_ENVELOPE), keys, IMAGE)).toBeUndefined();
  });

  test("is none if the key signed the statement alone: it could have another type elsewhere", () => {
    expect(fileProblem(bundle(OF_STATEMENT), keys, IMAGE)).toContain("not signed");
  });

  test("is none with another type, another statement, or by another key", () => {
    expect(fileProblem(bundle(OF_ENVELOPE, STATEMENT, "application/json"), keys, IMAGE)).toBeDefined();
    expect(fileProblem(bundle(OF_ENVELOPE, `${STATEMENT} `), keys, IMAGE)).toContain("not signed");
    expect(fileProblem(bundle(OF_CLAIM), keys, IMAGE)).toContain("not signed");
    expect(fileProblem(bundle(OF_ENVELOPE), [], IMAGE)).toContain("not signed");
  });

  test("is none for another image", () => {
    const digest = `sha256:${"0".repeat(64)}`;
    expect(fileProblem(bundle(OF_ENVELOPE), keys, { ...IMAGE, digest })).toContain(DIGEST.slice(7));
  });
});

describe("a simple signature", () => {
  test("is one of the image that its claim names", () => {
    expect(fileProblem(simple(OF_CLAIM), keys, IMAGE)).toBeUndefined();
  });

  test("is none without a signature, with another claim, or for another repository", () => {
    expect(fileProblem(simple(undefined), keys, IMAGE)).toContain("no signature");
    expect(fileProblem(simple(OF_CLAIM, CLAIM.replace("acme/fn", "acme/fx")), keys, IMAGE)).toContain("not signed");
    const repositories = ["registry.example.org/other/fn"];
    expect(fileProblem(simple(OF_CLAIM), keys, { ...IMAGE, repositories })).toContain("registry.example.org/acme/fn");
  });
});
