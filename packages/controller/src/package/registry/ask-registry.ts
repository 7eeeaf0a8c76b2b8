import type { LiveObject } from "@xfn/kubernetes";
import { ImageError, type ImageErrorCode, type RegistryAuth } from "@xfn/oci-rootfs";
import { PackageError } from "@xfn/package";
import type { PackageRegistry } from "../../objects/context.ts";
import { type ImageSettings, imageSettings, whenConfigsListed } from "./image-configs.ts";
import { PackageInstallError } from "./install-error.ts";
import { packageAuth } from "./pull-secrets.ts";
import type { RegistryAccess } from "./registry-access.ts";

/**
 * Asks the registry of a package, with the credentials of the object that names it and of ImageConfigs.
 *
 * @param action the failed action in messages, such as `cannot resolve spec.package registry.example.org/a:v1`
 * @param ask receives the image as ImageConfigs rewrite it, and their other settings for it
 * @throws {PackageInstallError} `Unavailable` or `InvalidPackage`
 * @throws {ApiError} if a pull secret cannot be read
 */
export async function askRegistry<T>(
  access: RegistryAccess,
  object: LiveObject,
  { image, action }: { readonly image: string; readonly action: string },
  ask: (
    registry: PackageRegistry,
    auth: RegistryAuth | undefined,
    image: string,
    settings: ImageSettings,
  ) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { packages } = access;
  if (packages === undefined) throw new PackageInstallError("Unavailable", `${action}: packages are disabled`);
  await whenConfigsListed(access, signal);
  const settings = imageSettings(access, image);
  const { auth, missing } = await packageAuth(access, object, settings, signal);
  try {
    return await ask(packages, auth, settings.image, settings);
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
