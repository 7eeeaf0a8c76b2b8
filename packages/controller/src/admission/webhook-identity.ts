import { randomBytes } from "node:crypto";
import type { KubernetesObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { PART_OF_LABEL } from "../kinds/define-kind.ts";
import { SECRETS, typeMeta } from "../objects/kinds.ts";
import { encode, secretText } from "../runtime/authority.ts";
import { hasNames, isDue, isIssuedBy, isPair, issueCertificate, type KeyPair } from "../runtime/certificates.ts";
import type { WebhookIdentity } from "./admission-server.ts";

/** The Secret with the identity of the webhooks, in the controller's namespace. All replicas serve with it. */
export const WEBHOOK_SECRET = "xfn-admission-webhook";

const PATH = "/validate-no-usages";

/** The identity in a Secret; undefined if its parts are missing or do not belong together. */
export function identityIn(secret: LiveObject | undefined): WebhookIdentity | undefined {
  const pair = { cert: secretText(secret, "tls.crt"), key: secretText(secret, "tls.key") };
  const token = secretText(secret, "token");
  return isPair(pair) && token !== "" ? { ...pair, path: `${PATH}/${token}` } : undefined;
}

/**
 * The Secret as it must be; undefined if it is. The path has a random part: other pods can reach the port too, and a
 * review records the attempt to delete an object.
 */
export async function renewedIdentity(
  secret: LiveObject | undefined,
  {
    authority,
    names,
    namespace,
    now,
  }: { authority: KeyPair; names: readonly [string, ...string[]]; namespace: string; now: number },
): Promise<KubernetesObject | undefined> {
  const current = identityIn(secret);
  const isUsable =
    current !== undefined &&
    isIssuedBy(current.cert, authority.cert) &&
    !isDue(current.cert, now) &&
    hasNames(current.cert, names);
  if (isUsable) return undefined;
  const { cert, key } = await issueCertificate(authority, { usage: "server", names }, now);
  const token = current === undefined ? randomBytes(16).toString("hex") : secretText(secret, "token");
  return {
    ...typeMeta(SECRETS),
    metadata: { name: WEBHOOK_SECRET, namespace, labels: { [PART_OF_LABEL[0]]: PART_OF_LABEL[1] } },
    type: "kubernetes.io/tls",
    data: { "tls.crt": encode(cert), "tls.key": encode(key), token: encode(token) },
  };
}
