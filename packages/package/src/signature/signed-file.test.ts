import type { ArtifactFile } from "@xfn/oci-rootfs/registry";
import { describe, expect, test } from "vitest";
import { fileProblem } from "./authority.ts";
import { keySigner } from "./key-signer.ts";
import type { SignedImage } from "./signed-claim.ts";
import { BUNDLE, readSignedFile, SIMPLE_SIGNING } from "./signed-file.ts";

// The signatures were made once with openssl: `openssl ecparam -name prime256v1 -genkey -noout -out key.pem`, then
// `openssl dgst -sha256 -sign key.pem FILE | base64 -w0` for a FILE with the signed bytes that each constant names.

const KEY = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEAPjnys/1vXHniIiKQCRStsRRxMKW
oOavGio+/JMle+qcEoBz8Kyx0k5ZzQiQwrqA7Jwll0B4/MuF1BOEgrra/A==
-----END PUBLIC KEY-----`;
const DIGEST = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const IMAGE = { digest: DIGEST, repositories: ["registry.example.org/acme/fn"] };
const signer = keySigner(KEY, "sha256");

function problem(file: ArtifactFile, image: SignedImage = IMAGE): string | undefined {
  const signed = readSignedFile(file);
  return typeof signed === "string" ? signed : fileProblem(signed, { signer }, image);
}

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
    expect(problem(bundle(OF_ENVELOPE))).toBeUndefined();
  });

  test("is none if the key signed the statement alone: it could have another type elsewhere", () => {
    expect(problem(bundle(OF_STATEMENT))).toContain("not signed");
  });

  test("is none with another type, another statement, or by another key", () => {
    expect(problem(bundle(OF_ENVELOPE, STATEMENT, "application/json"))).toBeDefined();
    expect(problem(bundle(OF_ENVELOPE, `${STATEMENT} `))).toContain("not signed");
    expect(problem(bundle(OF_CLAIM))).toContain("not signed");
  });

  test("is none for another image", () => {
    const digest = `sha256:${"0".repeat(64)}`;
    expect(problem(bundle(OF_ENVELOPE), { ...IMAGE, digest })).toContain(DIGEST.slice(7));
  });
});

describe("a simple signature", () => {
  test("is one of the image that its claim names", () => {
    expect(problem(simple(OF_CLAIM))).toBeUndefined();
  });

  test("is none without a signature, with another claim, or for another repository", () => {
    expect(problem(simple(undefined))).toContain("no signature");
    expect(problem(simple(OF_CLAIM, CLAIM.replace("acme/fn", "acme/fx")))).toContain("not signed");
    const repositories = ["registry.example.org/other/fn"];
    expect(problem(simple(OF_CLAIM), { ...IMAGE, repositories })).toContain("registry.example.org/acme/fn");
  });
});
