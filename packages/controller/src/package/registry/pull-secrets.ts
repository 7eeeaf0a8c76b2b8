import { type JsonValue, objectAt, objectsAt, textAt } from "@xfn/json";
import type { LiveObject, ObjectReference } from "@xfn/kubernetes";
import { findAuth, parsePullSecret } from "@xfn/oci-rootfs/docker-auths";
import type { RegistryAuth } from "@xfn/pipeline";
import { namesOf } from "../../kinds/package-fields.ts";
import { FUNCTION_REVISIONS, FUNCTION_RUNTIMES, referenceOf, SECRETS, SERVICE_ACCOUNTS } from "../../objects/kinds.ts";
import { findLive } from "../../objects/read-objects.ts";
import type { ImageSettings } from "./image-configs.ts";
import type { RegistryAccess } from "./registry-access.ts";

/** The types of pull secrets, with the key of each (Kubernetes, "Pull an Image from a Private Registry"). */
const KEYS: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ["kubernetes.io/dockerconfigjson", ".dockerconfigjson"],
  ["kubernetes.io/dockercfg", ".dockercfg"],
]);

type Read = (reference: ObjectReference) => Promise<LiveObject | undefined>;

/** The names of the pull secrets of the controller's own service account. */
export async function accountSecrets(
  { serviceAccount, namespace }: Pick<RegistryAccess, "serviceAccount" | "namespace">,
  read: Read,
): Promise<string[]> {
  if (serviceAccount === undefined) return [];
  const account = await read(referenceOf(SERVICE_ACCOUNTS, serviceAccount, namespace));
  return objectsAt(account, "imagePullSecrets").flatMap((one) => textAt(one, "name") ?? []);
}

/** The credentials that a pull secret has for an image; undefined if it has none. */
export function authOf(secret: LiveObject, image: string): RegistryAuth | undefined {
  const key = KEYS.get(secret["type"]);
  const value = key === undefined ? undefined : objectAt(secret, "data")[key];
  if (key === undefined || typeof value !== "string") return undefined;
  const auths = parsePullSecret(Buffer.from(value, "base64").toString("utf8"), key === ".dockercfg");
  return auths === undefined ? undefined : findAuth(auths, image);
}

/** The credentials for a package, and the names of missing pull secrets. */
export interface PackageAuth {
  readonly auth: RegistryAuth | undefined;
  readonly missing: readonly string[];
}

/**
 * Finds the credentials for a package in Secrets: first in its `packagePullSecrets`, in order, then in the Secret of an
 * ImageConfig, then in those of the controller's service account. All are in the controller's namespace, so that a
 * package cannot use other Secrets.
 *
 * @throws {ApiError}
 */
export async function packageAuth(
  access: RegistryAccess,
  object: LiveObject,
  { image, pullSecret }: Pick<ImageSettings, "image" | "pullSecret">,
  signal: AbortSignal,
): Promise<PackageAuth> {
  const { namespace } = access;
  const read: Read = (reference) => findLive(access, reference, signal);
  const { packagePullSecrets } = FUNCTION_REVISIONS.of(object).spec;
  const { pullSecrets } = FUNCTION_RUNTIMES.of(object).spec;
  const named = namesOf([...packagePullSecrets, ...pullSecrets]);
  const missing: string[] = [];
  const configured = pullSecret === undefined ? [] : [pullSecret];
  for (const name of [...named, ...configured, ...(await accountSecrets(access, read))]) {
    const secret = await read(referenceOf(SECRETS, name, namespace));
    if (secret === undefined) missing.push(`${namespace}/${name}`);
    const auth = secret && authOf(secret, image);
    if (auth !== undefined) return { auth, missing };
  }
  return { auth: undefined, missing };
}
