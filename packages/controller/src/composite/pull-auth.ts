import type { CompositionFunction, ImagePullSecret } from "@xfn/composition";
import { isObject, type JsonValue } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import { findAuth, parsePullSecret } from "@xfn/oci-rootfs/docker-auths";
import type { RegistryAuth } from "@xfn/pipeline";
import { CompositeError } from "../objects/composite-error.ts";
import { referenceOf, SECRETS, SERVICE_ACCOUNTS } from "../objects/kinds.ts";
import { objectAt } from "../objects/read-objects.ts";
import { emitEvent, type ReconcileContext } from "./reconcile-context.ts";

/** The types of pull secrets, with their keys (Kubernetes, "Pull an Image from a Private Registry"). */
const KEYS: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ["kubernetes.io/dockerconfigjson", ".dockerconfigjson"],
  ["kubernetes.io/dockercfg", ".dockercfg"],
]);

/**
 * Finds the credentials for a step's image: first in the step's pull secrets, in their order, then in those of the
 * controller's service account. A missing secret is reported and skipped, as a kubelet does: the image may need none.
 *
 * @throws {CompositeError} `PullSecret` for a secret in a namespace that is not allowed. Otherwise the author of a
 *   Composition could send any Secret of the cluster to any registry
 */
export async function pullAuth(
  context: ReconcileContext,
  step: CompositionFunction,
): Promise<RegistryAuth | undefined> {
  const { image, imagePullSecrets } = step.container;
  for (const { name, namespace = context.namespace } of [...imagePullSecrets, ...(await accountSecrets(context))]) {
    if (namespace !== context.namespace && !context.pullSecretNamespaces.includes(namespace)) {
      throw new CompositeError(
        "PullSecret",
        `step ${JSON.stringify(step.name)}: the pull secret ${namespace}/${name} is in a namespace from which none may be ` +
          `read; use ${context.namespace}, or allow it with --pull-secret-namespaces`,
      );
    }
    const secret = await context.pullSecrets.read(context, referenceOf(SECRETS, name, namespace), context.signal);
    if (secret === undefined) {
      const message = `step ${JSON.stringify(step.name)}: there is no pull secret ${namespace}/${name}`;
      emitEvent(context, "Warning", message);
      continue;
    }
    const found = authOf(secret, image);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function accountSecrets(context: ReconcileContext): Promise<ImagePullSecret[]> {
  const { serviceAccount, namespace, signal } = context;
  if (serviceAccount === undefined) return [];
  const reference = referenceOf(SERVICE_ACCOUNTS, serviceAccount, namespace);
  const account = await context.pullSecrets.read(context, reference, signal);
  const list = account?.["imagePullSecrets"];
  return (Array.isArray(list) ? list : []).flatMap((one) => {
    const name = isObject(one) ? one["name"] : undefined;
    return typeof name === "string" && name !== "" ? [{ name, namespace }] : [];
  });
}

function authOf(secret: LiveObject, image: string): RegistryAuth | undefined {
  const key = KEYS.get(secret["type"]);
  const value = key === undefined ? undefined : objectAt(secret, "data")[key];
  if (key === undefined || typeof value !== "string") return undefined;
  const auths = parsePullSecret(Buffer.from(value, "base64").toString("utf8"), key === ".dockercfg");
  return auths === undefined ? undefined : findAuth(auths, image);
}
