import { objectAt, sameJson, textAt } from "@xfn/json";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import { SECRET_TYPE_CONNECTION, type SecretReference } from "../objects/connection-secrets.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { referenceOf, SECRETS, typeMeta } from "../objects/kinds.ts";
import { controllerReferenceTo, isControllableBy, isControlledBy, withoutPredecessor } from "../objects/owner.ts";
import { ClaimError } from "./claim-error.ts";
import type { Subject, Writes } from "./claim-port.ts";

/** A composite's connection secret, and the one that its claim asks for. Undefined: it does not exist. */
export interface SeenSecrets {
  readonly from: SecretReference;
  readonly source: LiveObject | undefined;
  readonly to: SecretReference;
  readonly copy: LiveObject | undefined;
}

/**
 * Plans to copy a composite's connection secret into the claim's namespace, under the name that the claim chose. Copies
 * only a Secret that the composite controls: otherwise a reference could read any Secret. Writes only a Secret that the
 * claim controls, or a connection secret without a living controller.
 *
 * @param seen undefined if the claim or its composite has none
 * @throws {ClaimError} `NoConnectionSecret`, `SecretNotFound`, `SecretOfAnother`
 */
export function planCopy({ claim }: Subject, composite: LiveObject, seen: SeenSecrets | undefined): Writes {
  requireSecret(claim, composite);
  if (seen === undefined) return [];
  const { from, source, to, copy } = seen;
  if (source === undefined)
    throw new ClaimError(
      "SecretNotFound",
      `the composite's connection secret ${from.namespace}/${from.name} does not exist yet`,
    );
  if (!isControlledBy(source, composite)) {
    throw new ClaimError(
      "SecretOfAnother",
      `the composite does not control the secret ${from.namespace}/${from.name} that it names, so it is not copied`,
    );
  }
  const data = objectAt(source, "data");
  const on = referenceOf(SECRETS, to.name, to.namespace);
  const common = { as: "xr", on, manager: FIELD_MANAGERS.claim, why: "the connection details differ" } as const;
  if (copy === undefined) {
    const metadata = { ...to, ownerReferences: [controllerReferenceTo(claim)] };
    const object = { ...typeMeta(SECRETS), metadata, type: SECRET_TYPE_CONNECTION, data };
    return [{ ...common, do: "create", object }];
  }
  const isOwn = isControlledBy(copy, claim);
  if (!isOwn && (!isControllableBy(copy, claim) || copy["type"] !== SECRET_TYPE_CONNECTION)) {
    throw new ClaimError(
      "SecretOfAnother",
      `the secret ${to.name} in ${to.namespace} does not belong to this claim and is left alone; ` +
        "name another in spec.writeConnectionSecretToRef, or delete it",
    );
  }
  if (isOwn && sameJson(objectAt(copy, "data"), data)) return [];
  const owners = withoutPredecessor(copy, claim);
  const ownerReferences = isOwn ? owners : [...owners, controllerReferenceTo(claim)];
  const object = { ...copy, ...typeMeta(SECRETS), metadata: { ...copy.metadata, ownerReferences }, data };
  return [{ ...common, do: "update", object }];
}

/** A claim that asks for a connection secret is ready only with it. */
function requireSecret(claim: LiveObject, composite: LiveObject): void {
  const [wants, has] = [claim, composite].map((one) => textAt(one, "spec", "writeConnectionSecretToRef", "name"));
  if (wants === undefined || has !== undefined) return;
  throw new ClaimError(
    "NoConnectionSecret",
    `the ${composite.kind} ${composite.metadata.name} has no connection secret to copy; give its Composition ` +
      "spec.writeConnectionSecretsToNamespace, or remove spec.writeConnectionSecretToRef from this object",
  );
}

/** The refusal of a copy without the server's message, which may quote values of the Secret. */
export function copyFailure(error: unknown, seen: SeenSecrets | undefined): unknown {
  if (!isApiError(error, "Invalid", "Forbidden")) return error;
  const reason = error.code === "Forbidden" ? "by its access rules or a quota" : "as invalid";
  const message = `the server refuses the secret ${seen?.to.name ?? ""} ${reason} (${String(error.status)})`;
  return new ClaimError("SecretRefused", message);
}
