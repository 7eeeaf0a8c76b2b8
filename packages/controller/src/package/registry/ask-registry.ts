import type { LiveObject } from "@xfn/kubernetes";
import { ImageError, type ImageErrorCode } from "@xfn/oci-rootfs";
import { PackageError } from "@xfn/package";
import type { Context, PackageRegistry } from "../../objects/context.ts";
import { imageSettings, unverified } from "./image-configs.ts";
import { PackageInstallError } from "./install-error.ts";
import { packageAuth } from "./pull-secrets.ts";

/**
 * Asks the registry of a package, with the credentials of the object that names it and of ImageConfigs.
 *
 * @param action what failed, such as `cannot resolve spec.package registry.example.org/a:v1`
 * @param ask gets the image as ImageConfigs rewrite it
 * @throws {PackageInstallError} `Unavailable`, `InvalidPackage` or `Unverified`
 * @throws {ApiError} if a pull secret cannot be read
 */
export async function askRegistry<T>(
  context: Context,
  object: LiveObject,
  { image, action }: { readonly image: string; readonly action: string },
  ask: (registry: PackageRegistry, auth: Parameters<PackageRegistry["digestOf"]>[1], image: string) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { packages } = context;
  if (packages === undefined) throw new PackageInstallError("Unavailable", `${action}: packages are disabled`);
  const settings = imageSettings(context, image);
  // Without the check, an unverified package would be installed as if it had been verified.
  if (settings.verifiedBy !== undefined)
    throw new PackageInstallError("Unverified", `${action}: ${unverified(image, settings.verifiedBy)}`);
  const { auth, missing } = await packageAuth(context, object, settings, signal);
  try {
    return await ask(packages, auth, settings.image);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PackageError) throw new PackageInstallError("InvalidPackage", error.message, { cause: error });
    if (!(error instanceof ImageError)) throw error;
    const { code, rawMessage, retryable } = error;
    const absent = missing.length === 0 ? "" : `; there is no Secret ${missing.join(", ")}`;
    const wayOut = WAYS_OUT[code] === undefined ? "" : `; ${WAYS_OUT[code]}`;
    const options = { cause: error, retryable: retryable || code === "RegistryUnavailable" };
    const place = settings.image === image ? "" : ` at ${settings.image}, as an ImageConfig says`;
    throw new PackageInstallError("Unavailable", `${action}${place}: ${rawMessage}${absent}${wayOut}`, options);
  }
}

const WAYS_OUT: { readonly [Code in ImageErrorCode]?: string } = {
  NotFound: "check the tag or digest, or push the package",
  Unauthorized:
    "name a Secret of type kubernetes.io/dockerconfigjson, in the controller's namespace, in spec.packagePullSecrets or in an ImageConfig",
  RegistryUnavailable: "the controller asks again",
  InvalidReference: "name the package as registry.example.org/repository:tag",
};
