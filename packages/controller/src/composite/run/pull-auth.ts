import type { ImagePullSecret } from "@xfn/composition";
import type { LiveObject, ObjectReference } from "@xfn/kubernetes";
import type { RegistryAuth } from "@xfn/pipeline";
import { CompositeError } from "../../objects/composite-error.ts";
import { referenceOf, SECRETS } from "../../objects/kinds.ts";
import { accountSecrets, authOf } from "../../package/registry/pull-secrets.ts";
import type { CompositePort } from "../state/composite-port.ts";
import type { NamedInputs } from "../state/named-inputs.ts";

/** An image that a step needs. */
export interface PulledImage {
  readonly step: string;
  readonly image: string;
  /** The pull secrets of the step or the package. */
  readonly secrets: readonly ImagePullSecret[];
}

/** The part of a reconcile that finds pull secrets. */
export interface PullPort extends Pick<CompositePort, "limits" | "shown"> {
  readonly callers: Pick<CompositePort["callers"], "pullSecrets">;
  readonly clock: Pick<CompositePort["clock"], "signal">;
}

/**
 * Finds the credentials for a step's image: first in the step's pull secrets, in order, then in the pull secrets of the
 * controller's service account. A missing secret is reported and skipped, as a kubelet does: the image may need none.
 *
 * @throws {CompositeError} `PullSecret` for a secret in a namespace that is not allowed. Otherwise the author of a
 *   Composition could send any Secret of the cluster to any registry
 */
export async function pullAuth(
  { callers, clock, limits, shown }: PullPort,
  inputs: Pick<NamedInputs, "known" | "note">,
  { step, image, secrets: named }: PulledImage,
): Promise<RegistryAuth | undefined> {
  // Flags of the controller name the namespaces from which every author may use pull secrets.
  const read = (reference: ObjectReference): Promise<LiveObject | undefined> =>
    callers.pullSecrets.read(inputs, reference, clock.signal);
  const account = await accountSecrets(limits, read);
  const secrets: readonly ImagePullSecret[] = [...named, ...account.map((name) => ({ name }))];
  for (const { name, namespace = limits.namespace } of secrets) {
    if (namespace !== limits.namespace && !limits.pullSecretNamespaces.includes(namespace)) {
      throw new CompositeError(
        "PullSecret",
        `the pull secret ${namespace}/${name} is in a namespace from which none may be read; use ` +
          `${limits.namespace}, or allow it with --pull-secret-namespaces`,
      );
    }
    const secret = await read(referenceOf(SECRETS, name, namespace));
    if (secret === undefined) {
      const message = `step ${JSON.stringify(step)}: there is no pull secret ${namespace}/${name}`;
      shown.warn(message);
      continue;
    }
    const found = authOf(secret, image);
    if (found === undefined) continue;
    const { username: _, ...values } = found;
    // A registry that receives the credentials can quote them in its answer.
    for (const value of Object.values(values)) if (value !== undefined) shown.secrets.add(value);
    return found;
  }
  return undefined;
}
