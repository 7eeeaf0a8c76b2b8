import { generateKeyPairSync, type KeyObject } from "node:crypto";
import type { Store } from "@xfn/oci-rootfs";
import { copyImage } from "@xfn/oci-rootfs/registry";
import { type Authority, keySigner, verifySignature } from "@xfn/package";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { needs } from "../harness/needs.ts";
import { startRegistry, type TestRegistry } from "../harness/registry.ts";
import { storeOf } from "../harness/shell-function.ts";
import {
  attachBundle,
  attachReferrer,
  attachSignatures,
  bundleSignature,
  type Claim,
  type SignatureFile,
  simpleSignature,
} from "../harness/signatures.ts";
import { Workspace } from "../harness/workspace.ts";

// Signatures of packages at a real registry, in the forms of cosign.

const KEYS = {
  "ECDSA P-256": generateKeyPairSync("ec", { namedCurve: "P-256" }),
  "RSA of 2048 bits": generateKeyPairSync("rsa", { modulusLength: 2048 }),
  Ed25519: generateKeyPairSync("ed25519"),
};
const OWN = KEYS["ECDSA P-256"];
const OTHER = generateKeyPairSync("ec", { namedCurve: "P-256" });

const pemOf = (key: KeyObject): string => key.export({ type: "spki", format: "pem" }).toString();
const trusted = (key: KeyObject): Authority => ({ signer: keySigner(pemOf(key), "sha256") });

describe("the signature of a package", needs("docker-registry"), () => {
  let workspace: Workspace;
  let registry: TestRegistry;
  let store: Store;
  let count = 0;

  beforeAll(async () => {
    workspace = await Workspace.create();
    registry = await startRegistry();
    store = await storeOf(workspace);
  });
  afterAll(async () => {
    await registry?.stop();
    await workspace?.[Symbol.asyncDispose]();
  });

  const access = () => ({ insecureRegistries: [registry.host] });
  /** A package at the registry. @returns its name with the digest, and the bytes of its manifest */
  const publish = async (): Promise<{ image: string; bytes: number }> => {
    const name = await buildGrpcImage(workspace, { name: `package-${(count += 1)}`, env: { COUNT: `${count}` } });
    const to = `${registry.host}/acme/package`;
    const { digest } = await copyImage({ from: name, to: `${to}:v${count}`, store, ...access() });
    const manifest = await fetch(`http://${registry.host}/v2/acme/package/manifests/${digest}`, {
      headers: { accept: "application/vnd.oci.image.manifest.v1+json" },
    });
    return { image: `${to}@${digest}`, bytes: (await manifest.arrayBuffer()).byteLength };
  };
  const verify = (
    image: string,
    authorities: readonly Authority[] = [trusted(OWN.publicKey)],
    name = image,
  ): Promise<void> => verifySignature({ image, name, authorities, signal: AbortSignal.timeout(60_000), ...access() });
  const attach = (image: string, ...files: readonly SignatureFile[]): Promise<void> =>
    attachSignatures(image, files, access());

  test("is missed at a mirror, if the registry does not answer", async () => {
    const { image } = await publish();
    const name = image.replace(registry.host, "registry.invalid");
    const mirrors = { "registry.invalid": [registry.host] };
    const options = { image: name, name, authorities: [trusted(OWN.publicKey)], mirrors, ...access() };
    const check = () => verifySignature({ ...options, signal: AbortSignal.timeout(60_000) });
    await expect(check()).rejects.toMatchObject({
      code: "RegistryUnavailable",
      message: expect.stringMatching(
        /found no signature of .* at a mirror.*; copy its signatures to the mirror with `cosign copy`.*registry\.invalid.*mirror/,
      ),
    });
    await attach(image, simpleSignature(name, OWN.privateKey));
    await check();
  });

  test.each(Object.entries(KEYS))("is accepted in both forms, with %s", async (_, { privateKey, publicKey }) => {
    const simple = await publish();
    await attach(
      simple.image,
      simpleSignature(simple.image, OTHER.privateKey),
      simpleSignature(simple.image, privateKey),
    );
    await verify(simple.image, [trusted(publicKey)]);
    await verify(simple.image, [trusted(OTHER.publicKey), trusted(publicKey)]);
    const bundle = await publish();
    await attachBundle(bundle.image, bundleSignature(bundle.image, OTHER.privateKey), bundle.bytes, access());
    await attachBundle(bundle.image, bundleSignature(bundle.image, privateKey), bundle.bytes, access());
    await verify(bundle.image, [trusted(publicKey)]);
  });

  test.each([
    ["a bundle with the type of the empty config", "application/vnd.oci.empty.v1+json", bundleSignature],
    ["a referrer with cosign's type", "application/vnd.dev.cosign.artifact.sig.v1+json", simpleSignature],
  ])("of cosign 2 is accepted in %s", async (_, configType, signatureOf) => {
    const { image, bytes: subjectBytes } = await publish();
    const sign = (key: KeyObject) =>
      attachReferrer(image, signatureOf(image, key), { configType, subjectBytes }, access());
    await sign(OTHER.privateKey);
    await expect(verify(image)).rejects.toMatchObject({ code: "Untrusted" });
    await sign(OWN.privateKey);
    await verify(image);
  });

  test("is missing", async () => {
    const { image } = await publish();
    await expect(verify(image)).rejects.toMatchObject({
      code: "Missing",
      retryable: true,
      message: expect.stringContaining(`no signature of ${image}; sign it with`) as string,
    });
  });

  const another = `sha256:${"0".repeat(64)}`;
  test.each<[what: string, claim: Claim, problem: string]>([
    ["another digest", { digest: another }, another],
    ["another repository", { repository: "registry.example.org/acme/other" }, "acme/other"],
    ["another type of claim", { type: "something else" }, "something else"],
  ])("is refused for %s, whose signature is valid", async (_, claim, problem) => {
    const { image } = await publish();
    await attach(image, simpleSignature(image, OWN.privateKey, claim));
    await expect(verify(image)).rejects.toMatchObject({
      code: "Untrusted",
      message: expect.stringContaining(problem) as string,
    });
  });

  test.each<[what: string, claim: Claim, problem: string]>([
    ["another digest", { digest: another }, "0".repeat(64)],
    ["an attestation", { predicateType: "https://spdx.dev/Document" }, "https://spdx.dev/Document"],
  ])("is refused in a bundle of %s", async (_, claim, problem) => {
    const { image, bytes } = await publish();
    await attachBundle(image, bundleSignature(image, OWN.privateKey, claim), bytes, access());
    await expect(verify(image)).rejects.toMatchObject({
      code: "Untrusted",
      message: expect.stringContaining(problem) as string,
    });
  });

  test("is refused with another key, or after a change of its payload", async () => {
    const { image, bytes } = await publish();
    const good = simpleSignature(image, OWN.privateKey);
    const changed = { ...good, content: Buffer.from(`${good.content.toString()} `) };
    const { content } = bundleSignature(image, OWN.privateKey, { digest: another });
    const bundle = JSON.parse(content.toString()) as { dsseEnvelope: { payload: string } };
    bundle.dsseEnvelope.payload = (
      JSON.parse(bundleSignature(image, OTHER.privateKey).content.toString()) as typeof bundle
    ).dsseEnvelope.payload;
    await attachBundle(image, { content: Buffer.from(JSON.stringify(bundle)) }, bytes, access());
    await attach(image, changed, simpleSignature(image, OTHER.privateKey));
    const refused = { code: "Untrusted", message: expect.stringContaining("not signed by a key") as string };
    await expect(verify(image)).rejects.toMatchObject(refused);
    await attach(image, good);
    await expect(verify(image, [trusted(OTHER.publicKey)])).rejects.toMatchObject(refused);
    await verify(image);
  });

  test("is found at a mirror that keeps the path of the package's name", async () => {
    const { image } = await publish();
    await attach(image, simpleSignature(image, OWN.privateKey, { repository: "registry.example.org/team/tools:v1" }));
    await expect(verify(image)).rejects.toMatchObject({ code: "Untrusted" });
    await verify(image, undefined, "registry.example.org/team/tools:v1");
  });

  test("beyond the bounds hides no other one, and is not read", async () => {
    const { image, bytes } = await publish();
    const huge = { ...simpleSignature(image, OWN.privateKey), content: Buffer.alloc(300 * 1024, "a") };
    await attach(image, huge);
    await expect(verify(image)).rejects.toMatchObject({ code: "Untrusted", message: /307200 bytes, more than 262144/ });
    const many = Array.from({ length: 101 }, () => simpleSignature(image, OWN.privateKey));
    await attach(image, ...many);
    await expect(verify(image)).rejects.toMatchObject({ code: "Untrusted", message: /101 files, more than 100/ });
    await attachBundle(image, bundleSignature(image, OWN.privateKey), bytes, access());
    await verify(image);
  });
});
