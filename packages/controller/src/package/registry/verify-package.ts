import { isObject, type JsonObject, type JsonValue, objectAt, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import type { RegistryAuth } from "@xfn/oci-rootfs";
import { readTrustedKey, SignatureError, type TrustedKey } from "@xfn/package";
import type { PackageRegistry } from "../../objects/context.ts";
import { referenceOf, SECRETS } from "../../objects/kinds.ts";
import { findLive } from "../../objects/read-objects.ts";
import type { ImageSettings } from "./image-configs.ts";
import { PackageInstallError } from "./install-error.ts";
import type { RegistryAccess } from "./registry-access.ts";

/** The keys are read from Secrets, and each key is tried with each signature. */
const MAX_AUTHORITIES = 20;

/** The image of a package: its name for users, and its name in the pull, with a digest. */
export interface PulledImage {
  readonly name: string;
  readonly image: string;
}

/**
 * Verifies the signature that an ImageConfig requires of a package: one of the authorities' keys must have signed its
 * digest (https://docs.crossplane.io/latest/packages/image-configs/#configuring-signature-verification).
 *
 * @throws {PackageInstallError} `Unverified`
 * @throws {ImageError} if the registry does not answer
 * @throws {ApiError} if a Secret cannot be read
 */
export async function verifyPackage(
  access: RegistryAccess,
  { config, spec }: NonNullable<ImageSettings["verification"]>,
  { name, image }: PulledImage,
  { registry, auth }: { readonly registry: PackageRegistry; readonly auth: RegistryAuth | undefined },
  signal: AbortSignal,
): Promise<void> {
  const { keys, problems } = await trustedKeys(access, spec, signal);
  const further = problems.length === 0 ? "" : `; ${problems.join("; ")}`;
  const refuse = (why: string, options?: ErrorOptions): PackageInstallError =>
    // Retryable, because a signature or a key may be added.
    new PackageInstallError(
      "Unverified",
      `the ImageConfig ${config} requires a signature of ${name}: ${why}${further}`,
      { ...options, retryable: true },
    );
  if (keys.length === 0) throw refuse("it has no authority with a key that can be used");
  try {
    await registry.verify({ image, name, keys }, auth, signal);
  } catch (cause) {
    if (!(cause instanceof SignatureError)) throw cause;
    throw refuse(cause.message, { cause });
  }
}

/** The keys of all authorities, and why other keys cannot be used. */
async function trustedKeys(
  access: RegistryAccess,
  spec: JsonObject,
  signal: AbortSignal,
): Promise<{ readonly keys: readonly TrustedKey[]; readonly problems: readonly string[] }> {
  const { authorities } = objectAt(spec, "cosign");
  const list = (Array.isArray(authorities) ? authorities : []).filter(isObject);
  const problems: string[] = [];
  if (textAt(spec, "provider") !== "Cosign") return { keys: [], problems: ["its provider is not Cosign"] };
  if (list.length > MAX_AUTHORITIES) problems.push(`only the first ${MAX_AUTHORITIES} authorities are used`);
  const keys: TrustedKey[] = [];
  for (const authority of list.slice(0, MAX_AUTHORITIES)) {
    const found = await keyOf(access, authority, signal);
    if (typeof found === "string") problems.push(`authority ${textAt(authority, "name") ?? ""}: ${found}`);
    else keys.push(found);
  }
  return { keys, problems };
}

/** The key of an authority, or why it is unusable. Requirements other than a signature make it unusable. */
async function keyOf(access: RegistryAccess, authority: JsonObject, signal: AbortSignal): Promise<TrustedKey | string> {
  const { keyless, attestations } = authority;
  if (isObject(keyless)) return "keyless verification is not supported; sign with a key, and name it in key.secretRef";
  if (Array.isArray(attestations) && attestations.length > 0)
    return "attestations are not supported; verify them before the package is published, and remove them";
  const hash = textAt(authority, "key", "hashAlgorithm") ?? "sha256";
  const secretRef = objectAt(authority, "key", "secretRef");
  const [secretName, field] = [textAt(secretRef, "name"), textAt(secretRef, "key")];
  if (secretName === undefined || field === undefined) return "it has no key.secretRef with a name and a key";
  const secret = await findLive(access, referenceOf(SECRETS, secretName, access.namespace), signal);
  const where = `the key ${field} of the Secret ${access.namespace}/${secretName}`;
  const pem = secret && dataAt(secret, field);
  if (pem === undefined) return `there is no ${where.slice("the ".length)}; create it with the public key`;
  try {
    return readTrustedKey(textAt(authority, "name") ?? "", pem, hash);
  } catch (error) {
    if (error instanceof SignatureError) return `cannot use ${where}: ${error.message}`;
    throw error;
  }
}

function dataAt(secret: LiveObject, field: string): string | undefined {
  const value: JsonValue | undefined = objectAt(secret, "data")[field];
  return typeof value === "string" && value !== "" ? Buffer.from(value, "base64").toString("utf8") : undefined;
}
