import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { type Authority, fileProblem, predicateType } from "./authority.ts";
import { type KeylessTrust, keylessSigner, type SignerIdentity } from "./keyless-signer.ts";
import { readSignedFile } from "./signed-file.ts";

// Made once with cosign 2.6.5 and 3.1.3, which also verified them (`cosign verify`, `cosign verify-attestation`).
// Fulcio, Rekor and the log of certificates were those of @sigstore/mock, behind an HTTP server:
//   cosign sign --fulcio-url URL --rekor-url URL --identity-token TOKEN IMAGE
//   cosign attest --type cyclonedx --predicate FILE and the same flags
// cosign 3 also had `--use-signing-config=false --trusted-root FILE`.

interface File {
  readonly mediaType: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly content: string;
}
interface Recorded {
  readonly digest: string;
  readonly trustedRoot: JsonObject;
  readonly cosign2: { readonly signature: File; readonly attestation: File };
  readonly cosign3: { readonly signature: File; readonly attestation: File };
}
const RECORDED = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../testdata/keyless-signatures.json"), "utf8"),
) as Recorded;
const ISSUER = "https://token.example.org";
const SUBJECT = "https://git.example.org/acme/build.yaml@refs/heads/main";
const FORMS = [
  ["cosign 2", RECORDED.cosign2],
  ["cosign 3", RECORDED.cosign3],
] as const;

const image = { digest: RECORDED.digest, repositories: ["127.0.0.1:7002/acme/cosign2"] };
const rootOf = (root: JsonObject): Uint8Array => Buffer.from(JSON.stringify(root));

async function problem(file: File, given: Partial<KeylessTrust> & Pick<Authority, "predicateTypes"> = {}) {
  const { predicateTypes, ...trust } = given;
  const signer = await keylessSigner({
    identities: [{ issuer: ISSUER, subject: SUBJECT }],
    trustedRoot: rootOf(RECORDED.trustedRoot),
    ignoreSct: false,
    ...trust,
  });
  const signed = readSignedFile({ ...file, content: Buffer.from(file.content) });
  return typeof signed === "string"
    ? signed
    : fileProblem(signed, { signer, ...(predicateTypes && { predicateTypes }) }, image);
}

describe.each(FORMS)("a keyless signature of %s", (_, { signature, attestation }) => {
  test.each<SignerIdentity>([
    { issuer: ISSUER, subject: SUBJECT },
    { issuerRegExp: "https://token[.]example[.](org|com)", subjectRegExp: "https://git.example.org/acme/.*" },
    { issuer: ISSUER, subject: SUBJECT, subjectRegExp: ".*@refs/heads/main" },
  ])("is accepted of %j", async (identity) => {
    expect(
      await problem(signature, { identities: [{ issuer: "another", subject: "another" }, identity] }),
    ).toBeUndefined();
  });

  test.each<SignerIdentity>([
    { issuer: `${ISSUER}/`, subject: SUBJECT },
    { issuer: ISSUER, subject: SUBJECT.replace(".", "x") },
    { issuer: ISSUER, subject: "https://git.example.org/acme/" },
    // A dot stands for any character only in expressions, and an expression for the whole text.
    { issuer: ISSUER, subject: SUBJECT.replace("build", "b.ild") },
    { issuer: ISSUER, subjectRegExp: "git.example.org/acme" },
    { issuerRegExp: "token", subject: SUBJECT },
    { issuer: ISSUER, subject: SUBJECT, issuerRegExp: "https://other.*" },
  ])("is refused of %j", async (identity) => {
    expect(await problem(signature, { identities: [identity] })).toContain("none of the identities");
  });

  test("is refused for another image, with a changed payload, and from another root", async () => {
    const other = JSON.parse(JSON.stringify(RECORDED.trustedRoot)) as { tlogs: { logId: object }[] };
    other.tlogs.forEach((log) => Object.assign(log, { logId: { keyId: Buffer.alloc(32).toString("base64") } }));
    expect(await problem(signature, { trustedRoot: rootOf(other as never) })).toContain("is not valid");
    expect(await problem(signature, { trustedRoot: rootOf({ ...RECORDED.trustedRoot, ctlogs: [] }) })).toContain(
      "not valid",
    );
    expect(
      await problem(signature, { trustedRoot: rootOf({ ...RECORDED.trustedRoot, certificateAuthorities: [] }) }),
    ).toContain("not valid");
    const signer = await keylessSigner({
      identities: [{ issuer: ISSUER, subject: SUBJECT }],
      trustedRoot: rootOf(RECORDED.trustedRoot),
      ignoreSct: false,
    });
    const signed = readSignedFile({ ...signature, content: Buffer.from(signature.content) });
    if (typeof signed === "string") throw new Error(signed);
    const digest = `sha256:${"0".repeat(64)}`;
    expect(fileProblem(signed, { signer }, { ...image, digest })).toContain(RECORDED.digest.slice(7));
  });

  test("does not count as an attestation, nor an attestation as a signature", async () => {
    const predicateTypes = new Set([predicateType("cyclonedx")]);
    expect(await problem(attestation, { predicateTypes })).toBeUndefined();
    expect(await problem(attestation, { predicateTypes: new Set([predicateType("spdxjson")]) })).toContain("cyclonedx");
    expect(await problem(attestation)).toContain("cyclonedx");
    expect(await problem(signature, { predicateTypes })).toMatch(/is not an attestation|cosign\/sign/);
  });
});

test("a payload that differs from the signed one is refused", async () => {
  const { signature } = RECORDED.cosign2;
  expect(await problem({ ...signature, content: `${signature.content} ` })).toContain("is not valid");
});

test("a signature without a certificate is refused", async () => {
  const { signature } = RECORDED.cosign2;
  const annotations = {
    "dev.cosignproject.cosign/signature": signature.annotations["dev.cosignproject.cosign/signature"] ?? "",
  };
  expect(await problem({ ...signature, annotations })).toBe("it has no certificate");
});

test.each<[given: Partial<KeylessTrust>, code: string, message: string]>([
  [{ identities: [{ issuer: ISSUER }] }, "InvalidIdentity", "identities[0] has neither subject nor subjectRegExp"],
  [{ identities: [{ subject: SUBJECT }] }, "InvalidIdentity", "identities[0] has neither issuer nor issuerRegExp"],
  [{ identities: [{ issuer: ISSUER, subjectRegExp: "(" }] }, "InvalidIdentity", "identities[0].subjectRegExp: "],
  [{ trustedRoot: Buffer.from("") }, "InvalidRoot", "not a trusted_root.json"],
  [{ trustedRoot: rootOf({ tlogs: [] }) }, "InvalidRoot", "not a trusted_root.json"],
  [{ trustedRoot: rootOf({ ...RECORDED.trustedRoot, certificateAuthorities: [{}] }) }, "InvalidRoot", ""],
])("%j is refused before a signature is read", async (given, code, message) => {
  await expect(problem(RECORDED.cosign2.signature, given)).rejects.toMatchObject({
    code,
    message: expect.stringContaining(message) as string,
  });
});
