import { textsAt } from "@xfn/json";
import type { SecretReference } from "@xfn/pipeline";
import { asCompositeError, CompositeError } from "../objects/composite-error.ts";
import { referenceOf, SECRETS } from "../objects/kinds.ts";
import { findLive, type Reader } from "../objects/read-objects.ts";

/**
 * Reads the Secret of a step's credentials; undefined if it does not exist.
 *
 * @throws {CompositeError} `CredentialsNotAllowed` in a namespace that the operator did not name. Otherwise the author
 *   of a Composition could send any Secret of the cluster to their own function
 */
export async function stepCredentials(
  reader: Pick<Reader, "client">,
  allowedNamespaces: readonly string[],
  { namespace, name }: SecretReference,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Uint8Array> | undefined> {
  if (!allowedNamespaces.includes(namespace)) {
    throw new CompositeError(
      "CredentialsNotAllowed",
      `its credentials are the Secret ${namespace}/${name}, in a namespace from which functions get no Secrets; allow ` +
        `it with --credentials-secret-namespaces ${namespace}`,
    );
  }
  try {
    const secret = await findLive(reader, referenceOf(SECRETS, name, namespace), signal);
    if (secret === undefined) return undefined;
    const data = Object.entries(textsAt(secret, "data"));
    return new Map(data.map(([key, value]) => [key, Buffer.from(value, "base64")]));
  } catch (error) {
    throw asCompositeError(error, `cannot read the Secret ${namespace}/${name} of its credentials`, true);
  }
}
