import { objectAt } from "@xfn/json";
import { ApiError, type Client, isApiError, type LiveObject, type ObjectReference } from "@xfn/kubernetes";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { referenceOf, SECRETS, typeMeta } from "../objects/kinds.ts";
import { LABEL_RUNTIME } from "../objects/labels.ts";
import { findLive } from "../objects/read-objects.ts";
import { PackageInstallError } from "../package/registry/install-error.ts";
import type { Action } from "../plan/action.ts";
import { execute } from "../plan/execute.ts";
import { firstFailure } from "../plan/outcome.ts";
import { planInOrder } from "../plan/plan.ts";
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
export interface AuthorityPort {
  readonly client: Client;
  readonly namespace: string;
  readonly now: () => number;
}

/**
 * The authority of all runtimes. Creates its Secret if there is none, and replaces the authority before it expires.
 * Runtimes trust the previous one until all their certificates are of the new one.
 *
 * @throws {PackageInstallError} `NameTaken` if another program's Secret has the name
 * @throws {ApiError} `Conflict` if another controller replaces it at the same time
 */
export async function ensureAuthority(port: AuthorityPort, signal: AbortSignal): Promise<KeyPair> {
  const { namespace, now } = port;
  const reference = referenceOf(SECRETS, AUTHORITY_SECRET, namespace);
  const secret = await findLive(port, reference, signal);
  const usable = usableAuthority(secret, now());
  if (usable !== undefined) return usable;
  const title = `Secret ${namespace}/${AUTHORITY_SECRET}`;
  if (secret !== undefined && secret.metadata.labels?.[LABEL_RUNTIME] === undefined) {
    const message =
      `the ${title} has no certificate authority that is valid for long enough, and the controller did not create it; ` +
      "delete that Secret";
    throw new PackageInstallError("NameTaken", message);
  }
  const created = await createAuthority(now());
  const plan = planInOrder("authority", [writeOf(created, reference, secret)]);
  const outcome = await execute(plan, { actors: { own: port }, signal });
  if (outcome.latest(reference) !== undefined) return created;
  const error = firstFailure(outcome)?.error ?? new ApiError("Conflict", `the ${title} was deleted`);
  if (secret !== undefined || !isApiError(error, "NotFound", "AlreadyExists")) throw error;
  const message = isApiError(error, "NotFound")
    ? `cannot create the ${title}: ${error.message}; create the namespace`
    : `another controller creates the ${title}`;
  throw new PackageInstallError("NoRuntime", message, { cause: error, retryable: true });
}

function writeOf({ cert, key }: KeyPair, on: ObjectReference, seen: LiveObject | undefined): Action {
  const data = { "tls.crt": encode(cert), "tls.key": encode(key) };
  const common = {
    as: "own",
    manager: FIELD_MANAGERS.runtime,
    on,
    why: "it is the authority of all runtimes",
  } as const;
  if (seen !== undefined) return { ...common, do: "patch", body: { data }, seen, guard: "version" };
  const metadata = { name: on.name, namespace: on.namespace ?? "", labels: { [LABEL_RUNTIME]: "" } };
  return { ...common, do: "create", object: { ...typeMeta(SECRETS), metadata, type: "kubernetes.io/tls", data } };
}

/** Text as the data of a Secret. */
export function encode(text: string): string {
  return Buffer.from(text).toString("base64");
}
