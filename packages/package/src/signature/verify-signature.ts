import { ImageError, parseReference, type RegistryOptions } from "@xfn/oci-rootfs";
import type { ArtifactOptions, RegistryClient } from "@xfn/oci-rootfs/registry";
import { SignatureError } from "../errors/signature-error.ts";
import { type Authority, fileProblem } from "./authority.ts";
import type { SignedImage } from "./signed-claim.ts";
import { BUNDLE, ENVELOPE, readSignedFile, SIGNATURE_TYPES, SIMPLE_SIGNING, type SignedFile } from "./signed-file.ts";

/** A signature has some hundred bytes, a bundle with entries of transparency logs some thousand. */
const MAX_SIGNATURE_BYTES = 256 * 1024;

/** An attestation contains a document, such as the SBOM of an image. */
const MAX_ATTESTATION_BYTES = 8 * 1024 * 1024;

/** An image has some ten if each member and machine of a team signs it. */
const MAX_SIGNATURES = 100;

/** A message has this many of the signatures' problems. */
const MAX_PROBLEMS = 3;

/** An image, and the authorities. One of them must have signed it. */
export interface SignatureCheck extends RegistryOptions {
  /** The reference that is pulled, with a digest. */
  readonly image: string;
  /** The name of the image for its users, which may be another than that at which it is pulled. */
  readonly name: string;
  readonly authorities: readonly Authority[];
  readonly signal: AbortSignal;
}

/**
 * Verifies that one of the authorities signed the digest of an image, with cosign or a compatible tool: the signatures
 * at the tag `sha256-HEX.sig`, the attestations at `sha256-HEX.att`, and those among the referrers, such as the bundles
 * of cosign 3. Asks no transparency log.
 *
 * @throws {SignatureError} `Missing` or `Untrusted`
 * @throws {ImageError} if the registry does not answer
 */
export async function verifySignature(check: SignatureCheck): Promise<void> {
  const { image, name, authorities, signal, ...options } = check;
  const reference = parseReference(image);
  const { digest } = reference;
  if (digest === undefined) throw new TypeError(`${image} has no digest`);
  const repositories = [name, image].map((one) => parseReference(one).repository);
  const { mirrorsOf, RegistryClient } = await import("@xfn/oci-rootfs/registry");
  const client = new RegistryClient(reference, options);
  const problems: string[] = [];
  try {
    for await (const problem of signatureProblems(client, { digest, repositories, authorities }, signal)) {
      if (problem === undefined) return;
      problems.push(problem);
    }
  } catch (error) {
    const failure = ImageError.from(error, { image });
    const hasMirror = mirrorsOf(options.mirrors, reference.registry).length > 0;
    if (failure.code !== "RegistryUnavailable" || !hasMirror) throw failure;
    const copy = "copy its signatures to the mirror with `cosign copy`, or let the registry answer";
    const message = `found no signature of ${image} at a mirror, and its registry does not answer; ${copy}: ${failure.rawMessage}`;
    throw new ImageError(failure.code, message, { ...failure, cause: failure });
  } finally {
    await client.close();
  }
  if (problems.length === 0)
    throw new SignatureError("Missing", `the registry has no signature of ${image}; sign it with \`cosign sign\``);
  const found = problems.slice(0, MAX_PROBLEMS).join("; ");
  const message = `no signature of ${image} is valid: ${found}; sign it with \`cosign sign\`, or change the authorities`;
  throw new SignatureError("Untrusted", message);
}

interface Wanted {
  readonly digest: string;
  readonly repositories: readonly string[];
  readonly authorities: readonly Authority[];
}

/** The problem of each signature; undefined for a valid one. */
async function* signatureProblems(
  client: RegistryClient,
  wanted: Wanted,
  signal: AbortSignal,
): AsyncGenerator<string | undefined> {
  const tag = wanted.digest.replace(":", "-");
  yield* problemsOf(client, { tag: `${tag}.sig` }, wanted, signal);
  if (wantsAttestations(wanted.authorities)) yield* problemsOf(client, { tag: `${tag}.att` }, wanted, signal);
  const referrers = await client.referrers(wanted.digest, { signal });
  const signatures = referrers.filter(({ artifactType }) => SIGNATURE_TYPES.has(artifactType));
  for (const { digest } of signatures.slice(0, MAX_SIGNATURES)) yield* problemsOf(client, { digest }, wanted, signal);
  if (signatures.length > MAX_SIGNATURES)
    yield `${signatures.length} signatures refer to it, of which only ${MAX_SIGNATURES} are read`;
}

async function* problemsOf(
  client: RegistryClient,
  selector: { tag: string } | { digest: string },
  { authorities, ...image }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<string | undefined> {
  const { readArtifact } = await import("@xfn/oci-rootfs/registry");
  const place = "tag" in selector ? selector.tag : selector.digest;
  try {
    for await (const file of readArtifact(client, selector, filesFor(authorities), signal)) {
      const signed = readSignedFile(file);
      const problems = typeof signed === "string" ? [signed] : problemsFor(signed, authorities, image);
      yield problems.length === 0 ? undefined : `${place}: ${[...new Set(problems)].join(", and ")}`;
    }
  } catch (error) {
    // An artifact without a signature must not hide the signature of another one.
    if (signal.aborted || !(error instanceof ImageError) || error.retryable) throw error;
    if (error.code === "NotFound") return;
    if (error.code === "Unauthorized" || error.code === "RegistryUnavailable") throw error;
    yield `${place}: ${error.rawMessage}`;
  }
}

/** Why a file is not what any authority must have signed; none if one has. */
function problemsFor(file: SignedFile, authorities: readonly Authority[], image: SignedImage): string[] {
  const problems: string[] = [];
  for (const authority of authorities) {
    const problem = fileProblem(file, authority, image);
    if (problem === undefined) return [];
    problems.push(problem);
  }
  return problems;
}

function wantsAttestations(authorities: readonly Authority[]): boolean {
  return authorities.some(({ predicateTypes }) => predicateTypes !== undefined);
}

function filesFor(authorities: readonly Authority[]): ArtifactOptions {
  return {
    mediaTypes: new Set([SIMPLE_SIGNING, ENVELOPE, BUNDLE]),
    maxFiles: MAX_SIGNATURES,
    maxBytes: wantsAttestations(authorities) ? MAX_ATTESTATION_BYTES : MAX_SIGNATURE_BYTES,
  };
}
