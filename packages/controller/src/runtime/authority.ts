import { objectAt } from "@xfn/json";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import type { Context } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { referenceOf, SECRETS, typeMeta } from "../objects/kinds.ts";
import { LABEL_RUNTIME } from "../objects/labels.ts";
import { findLive } from "../objects/read-objects.ts";
import { PackageInstallError } from "../package/registry/install-error.ts";
import { createAuthority, isDue, isPair, type KeyPair } from "./certificates.ts";

/** The Secret of the authority, in the controller's namespace. */
export const AUTHORITY_SECRET = "xfn-runtime-ca";

/** The certificate and key in a Secret; undefined if they do not belong together. */
function keyPairIn(secret: LiveObject | undefined): KeyPair | undefined {
  const pair = { cert: secretText(secret, "tls.crt"), key: secretText(secret, "tls.key") };
  return isPair(pair) ? pair : undefined;
}

/** The text of a Secret's key; empty if it has none. */
export function secretText(secret: LiveObject | undefined, key: string): string {
  const value = objectAt(secret, "data")[key];
  return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : "";
}

/** The authority of a Secret, unless it must be replaced. */
export function usableAuthority(secret: LiveObject | undefined, now: number): KeyPair | undefined {
  const pair = keyPairIn(secret);
  return pair !== undefined && !isDue(pair.cert, now) ? pair : undefined;
}

/** The needs of {@link ensureAuthority}. */
export type AuthorityPort = Pick<Context, "client" | "namespace" | "now">;

/**
 * The authority of all runtimes. Creates its Secret if there is none, and replaces the authority before it expires.
 * Runtimes trust the previous one until all their certificates are of the new one.
 *
 * @throws {PackageInstallError} `NameTaken` if another program's Secret has the name
 * @throws {ApiError} `Conflict` if another controller replaces it at the same time
 */
export async function ensureAuthority(context: AuthorityPort, signal: AbortSignal): Promise<KeyPair> {
  const { client, namespace, now } = context;
  const reference = referenceOf(SECRETS, AUTHORITY_SECRET, namespace);
  const secret = await findLive(context, reference, signal);
  const usable = usableAuthority(secret, now());
  if (usable !== undefined) return usable;
  const options = { fieldManager: FIELD_MANAGERS.runtime, signal };
  const created = await createAuthority(now());
  const data = { "tls.crt": encode(created.cert), "tls.key": encode(created.key) };
  if (secret === undefined) {
    const metadata = { name: AUTHORITY_SECRET, namespace, labels: { [LABEL_RUNTIME]: "" } };
    try {
      await client.create({ ...typeMeta(SECRETS), metadata, type: "kubernetes.io/tls", data }, options);
      return created;
    } catch (error) {
      if (isApiError(error, "NotFound")) {
        const message = `cannot create the Secret ${namespace}/${AUTHORITY_SECRET}: ${error.message}; create the namespace`;
        throw new PackageInstallError("NoRuntime", message, { cause: error, retryable: true });
      }
      if (!isApiError(error, "AlreadyExists")) throw error;
      const message = `another controller creates the Secret ${namespace}/${AUTHORITY_SECRET}`;
      throw new PackageInstallError("NoRuntime", message, { cause: error, retryable: true });
    }
  }
  if (secret.metadata.labels?.[LABEL_RUNTIME] === undefined) {
    const message =
      `the Secret ${namespace}/${AUTHORITY_SECRET} has no certificate authority that is valid for long enough, and ` +
      "the controller did not create it; delete that Secret";
    throw new PackageInstallError("NameTaken", message);
  }
  const { uid, resourceVersion } = secret.metadata;
  await client.patch(reference, "merge", { metadata: { uid, resourceVersion }, data }, options);
  return created;
}

/** Text as the data of a Secret. */
export function encode(text: string): string {
  return Buffer.from(text).toString("base64");
}
