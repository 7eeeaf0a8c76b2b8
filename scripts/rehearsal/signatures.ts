// Verifies the signatures of a release with OpenSSL, which shares no code with the release.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type JsonObject, listAt, textAt } from "@xfn/json";
import { run } from "../image/downloads.ts";

/** A public key in a PEM file, and a folder for files. */
export interface Verifier {
  readonly key: string;
  readonly scratch: string;
}

/** @throws Error with OpenSSL's output if the key has not signed the content */
function verifySignature({ key, scratch }: Verifier, content: Buffer, signature: string): void {
  const [signed, detached] = [join(scratch, "content"), join(scratch, "signature")];
  writeFileSync(signed, content);
  writeFileSync(detached, Buffer.from(signature, "base64"));
  run("openssl", ["pkeyutl", "-verify", "-pubin", "-inkey", key, "-rawin", "-in", signed, "-sigfile", detached]);
}

/** Verifies the checksums of all files in the folder of a release. */
export function verifyChecksums(verifier: Verifier, release: string): void {
  const signature = readFileSync(join(release, "SHA256SUMS.sig"), "utf8");
  verifySignature(verifier, readFileSync(join(release, "SHA256SUMS")), signature);
  run("sha256sum", ["--check", "--quiet", "SHA256SUMS"], release);
}

/** Verifies the signature of an image as `cosign verify --key` does. @param repository its URL in the registry's API */
export async function verifyImage(verifier: Verifier, repository: string, digest: string): Promise<void> {
  const headers = { accept: "application/vnd.oci.image.manifest.v1+json" };
  const manifest = await fetch(`${repository}/manifests/${digest.replace(":", "-")}.sig`, { headers });
  if (!manifest.ok) throw new Error(`${repository}: ${digest} has no signature`);
  const [layer] = listAt((await manifest.json()) as JsonObject, "layers");
  const blob = await fetch(`${repository}/blobs/${textAt(layer, "digest") ?? ""}`);
  const payload = Buffer.from(await blob.arrayBuffer());
  const signature = textAt(layer, "annotations", "dev.cosignproject.cosign/signature");
  verifySignature(verifier, payload, signature ?? "");
  const named = textAt(JSON.parse(payload.toString()) as JsonObject, "critical", "image", "docker-manifest-digest");
  if (named !== digest) throw new Error(`${repository}: the signature of ${digest} is for ${named}`);
}
