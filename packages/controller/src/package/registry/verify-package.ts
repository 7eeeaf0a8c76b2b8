import { messageOf } from "@xfn/errors";
import { isObject, type JsonObject, type JsonValue, objectAt, objectsAt, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import type { RegistryAuth } from "@xfn/oci-rootfs";
import { type Authority, keylessSigner, keySigner, predicateType, SignatureError, type Signer } from "@xfn/package";
import type { PackageRegistry } from "../../objects/context.ts";
import { referenceOf, SECRETS } from "../../objects/kinds.ts";
import { findLive } from "../../objects/read-objects.ts";
import type { ImageSettings } from "./image-configs.ts";
import { PackageInstallError } from "./install-error.ts";
import type { RegistryAccess } from "./registry-access.ts";

/** The image of a package: its name for users, and its name in the pull, with a digest. */
export interface PulledImage {
  readonly name: string;
  readonly image: string;
}

/**
 * Verifies the signature or attestation that an ImageConfig requires of a package: one of the authorities must have
 * signed its digest (https://docs.crossplane.io/latest/packages/image-configs/#configuring-signature-verification).
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
  const { authorities, problems } = await authoritiesOf({ access, registry }, spec, signal);
  const further = problems.length === 0 ? "" : `; ${problems.join("; ")}`;
  const refuse = (why: string, options?: ErrorOptions): PackageInstallError =>
    // Retryable, because a signature or a key may be added.
    new PackageInstallError(
      "Unverified",
      `the ImageConfig ${config} requires a signature of ${name}: ${why}${further}`,
      { ...options, retryable: true },
    );
  if (authorities.length === 0) throw refuse("it has no authority that can be used");
  try {
    await registry.verify({ image, name, authorities }, auth, signal);
  } catch (cause) {
    if (!(cause instanceof SignatureError)) throw cause;
    throw refuse(cause.message, { cause });
  }
}

/** Where keys and the trusted root are read. */
interface Trust {
  readonly access: RegistryAccess;
  readonly registry: PackageRegistry;
}

/** The authorities that can be used, and why others cannot. */
async function authoritiesOf(
  trust: Trust,
  spec: JsonObject,
  signal: AbortSignal,
): Promise<{ readonly authorities: readonly Authority[]; readonly problems: readonly string[] }> {
  const list = objectsAt(spec, "cosign", "authorities");
  const problems: string[] = [];
  if (textAt(spec, "provider") !== "Cosign") return { authorities: [], problems: ["its provider is not Cosign"] };
  const authorities: Authority[] = [];
  for (const authority of list) {
    const found = await authorityOf(trust, authority, signal);
    if (typeof found === "string") problems.push(`authority ${textAt(authority, "name") ?? ""}: ${found}`);
    else authorities.push(found);
  }
  return { authorities, problems };
}

/** An authority, or why it cannot be used. */
async function authorityOf(trust: Trust, authority: JsonObject, signal: AbortSignal): Promise<Authority | string> {
  const keyless = authority["keyless"];
  const signer = isObject(keyless) ? await keylessOf(trust, keyless) : await keyOf(trust, authority, signal);
  if (typeof signer === "string") return signer;
  const attestations = objectsAt(authority, "attestations");
  if (attestations.length === 0) return { signer };
  return {
    signer,
    predicateTypes: new Set(attestations.map((one) => predicateType(textAt(one, "predicateType") ?? ""))),
  };
}

async function keylessOf({ registry }: Trust, keyless: JsonObject): Promise<Signer | string> {
  const identities = objectsAt(keyless, "identities").map((one) => ({
    issuer: textAt(one, "issuer"),
    issuerRegExp: textAt(one, "issuerRegExp"),
    subject: textAt(one, "subject"),
    subjectRegExp: textAt(one, "subjectRegExp"),
  }));
  try {
    const trustedRoot = await registry.trustedRoot();
    if (trustedRoot === undefined)
      return "keyless signatures need a trusted root; start xfn-controller with --trusted-root and a trusted_root.json";
    return await keylessSigner({ identities, trustedRoot, ignoreSct: keyless["insecureIgnoreSCT"] === true });
  } catch (error) {
    if (error instanceof SignatureError && error.code === "InvalidIdentity") return `keyless.${error.message}`;
    return `cannot use the file of --trusted-root: ${messageOf(error)}`;
  }
}

async function keyOf({ access }: Trust, authority: JsonObject, signal: AbortSignal): Promise<Signer | string> {
  const hash = textAt(authority, "key", "hashAlgorithm") ?? "sha256";
  const secretRef = objectAt(authority, "key", "secretRef");
  const [secretName, field] = [textAt(secretRef, "name"), textAt(secretRef, "key")];
  if (secretName === undefined || field === undefined)
    return "it has no keyless, and no key.secretRef with a name and a key";
  const secret = await findLive(access, referenceOf(SECRETS, secretName, access.namespace), signal);
  const where = `the key ${field} of the Secret ${access.namespace}/${secretName}`;
  const pem = secret && dataAt(secret, field);
  if (pem === undefined) return `there is no ${where.slice("the ".length)}; create it with the public key`;
  try {
    return keySigner(pem, hash);
  } catch (error) {
    if (error instanceof SignatureError) return `cannot use ${where}: ${error.message}`;
    throw error;
  }
}

function dataAt(secret: LiveObject, field: string): string | undefined {
  const value: JsonValue | undefined = objectAt(secret, "data")[field];
  return typeof value === "string" && value !== "" ? Buffer.from(value, "base64").toString("utf8") : undefined;
}
