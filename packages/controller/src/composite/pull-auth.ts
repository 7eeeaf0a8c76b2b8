import type { CompositionFunction, ImagePullSecret } from "@xfn/composition";
import { isObject, type JsonValue } from "@xfn/functionio";
import type { LiveObject, ObjectReference } from "@xfn/kubernetes";
import { findAuth, parsePullSecret } from "@xfn/oci-rootfs/docker-auths";
import type { RegistryAuth } from "@xfn/pipeline";
import { CompositeError } from "../objects/composite-error.ts";
import { findLive, objectAt } from "../objects/read-objects.ts";
import { objectKey } from "../objects/references.ts";
import { tell, type Work } from "./reconcile-context.ts";

/** Kubernetes, "Pull an Image from a Private Registry": the types of pull secrets, each with its key. */
const KEYS: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ["kubernetes.io/dockerconfigjson", ".dockerconfigjson"],
  ["kubernetes.io/dockercfg", ".dockercfg"],
]);

/** Many XRs run the same functions, one after the other; a Secret that changes is seen after this time. */
const FRESH_MS = 10_000;

/** Reads pull secrets and service accounts, each at most once in a while. */
export interface PullSecretReader {
  read(work: Work, reference: ObjectReference): Promise<LiveObject | undefined>;
}

/** Remembers what it has read for some seconds, also that there is nothing. */
export function pullSecretReader(): PullSecretReader {
  const known = new Map<string, { object: LiveObject | undefined; at: number }>();
  return {
    async read({ context, signal }, reference) {
      const key = objectKey(reference);
      const now = context.now();
      for (const [other, { at }] of known) if (now - at > FRESH_MS) known.delete(other);
      const found = known.get(key);
      if (found !== undefined) return found.object;
      const object = await findLive(context, reference, signal);
      known.set(key, { object, at: now });
      return object;
    },
  };
}

/**
 * Credentials for a step's image: of the step's pull secrets, in their order, then of those of the controller's own service
 * account. A secret that is not there is told of and passed over, as a kubelet does: the image may need none.
 *
 * @throws {CompositeError} `PullSecret` for a secret in a namespace that none may be read from: who writes Compositions would
 *   otherwise choose which of a cluster's Secrets are sent to a registry of their choice
 */
export async function pullAuth(work: Work, step: CompositionFunction): Promise<RegistryAuth | undefined> {
  const { context } = work;
  const { image, imagePullSecrets } = step.container;
  for (const { name, namespace } of [...imagePullSecrets, ...(await accountSecrets(work))]) {
    const place = { name, namespace: namespace ?? context.namespace };
    if (place.namespace !== context.namespace && !context.pullSecretNamespaces.includes(place.namespace)) {
      throw new CompositeError(
        "PullSecret",
        `step ${JSON.stringify(step.name)}: the pull secret ${place.namespace}/${name} is in a namespace that none may be ` +
          `read from; use ${context.namespace}, or allow it with --pull-secret-namespaces`,
      );
    }
    const secret = await work.pullSecrets.read(work, { apiVersion: "v1", kind: "Secret", ...place });
    if (secret === undefined) {
      const message = `step ${JSON.stringify(step.name)}: there is no pull secret ${place.namespace}/${name}`;
      tell(work, "Warning", "ComposeResources", message);
      continue;
    }
    const found = authOf(secret, image);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function accountSecrets(work: Work): Promise<ImagePullSecret[]> {
  const { serviceAccount: name, namespace } = work.context;
  if (name === undefined) return [];
  const account = await work.pullSecrets.read(work, { apiVersion: "v1", kind: "ServiceAccount", name, namespace });
  const list = account?.["imagePullSecrets"];
  return (Array.isArray(list) ? list : []).flatMap((one) => {
    const secret = isObject(one) ? one["name"] : undefined;
    return typeof secret === "string" && secret !== "" ? [{ name: secret, namespace }] : [];
  });
}

function authOf(secret: LiveObject, image: string): RegistryAuth | undefined {
  const key = KEYS.get(secret["type"]);
  const value = key === undefined ? undefined : objectAt(secret, "data")[key];
  if (key === undefined || typeof value !== "string") return undefined;
  const auths = parsePullSecret(Buffer.from(value, "base64").toString("utf8"), key === ".dockercfg");
  return auths === undefined ? undefined : findAuth(auths, image);
}
