import { layoutOfDefinition } from "@xfn/composition/definition";
import { objectAt, sameJson, textAt } from "@xfn/json";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import { SECRET_TYPE_CONNECTION, secretReferenceOf } from "../objects/connection-secrets.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { referenceOf, SECRETS, typeMeta } from "../objects/kinds.ts";
import { controllerOf, controllerReferenceTo, isControlledBy } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import type { ClaimContext } from "./claim-context.ts";
import { ClaimError } from "./claim-error.ts";

/**
 * Copies a composite's connection secret into the claim's namespace, under the name that the claim chose. Copies only a
 * Secret that the composite controls: otherwise a reference could read any Secret. Writes only a Secret that the claim
 * controls, or a connection secret without a controller.
 *
 * @returns whether it wrote
 * @throws {ClaimError} `SecretNotFound`, `SecretOfAnother`, `SecretRefused`
 */
export async function copySecret(context: ClaimContext, composite: LiveObject): Promise<boolean> {
  const { claim, signal } = context;
  const target = textAt(claim, "spec", "writeConnectionSecretToRef", "name");
  const source = secretReferenceOf(composite, layoutOfDefinition(context.definition));
  if (target === undefined || source === undefined) return false;
  const data = objectAt(await readSource(context, composite, source.name, source.namespace), "data");
  const { namespace = "" } = claim.metadata;
  const existing = await findLive(context.actors.xr, referenceOf(SECRETS, target, namespace), signal);
  const options = { fieldManager: FIELD_MANAGERS.claim, signal };
  if (existing === undefined) {
    const metadata = { name: target, namespace, ownerReferences: [controllerReferenceTo(claim)] };
    const secret = { ...typeMeta(SECRETS), metadata, type: SECRET_TYPE_CONNECTION, data };
    await refusalWithoutValues(target, context.actors.xr.client.create(secret, options));
    return true;
  }
  const isOwn = isControlledBy(existing, claim);
  if (!isOwn && (controllerOf(existing) !== undefined || existing["type"] !== SECRET_TYPE_CONNECTION)) {
    throw new ClaimError(
      "SecretOfAnother",
      `the secret ${target} in ${namespace} does not belong to this claim and is left alone; ` +
        "name another in spec.writeConnectionSecretToRef, or delete it",
    );
  }
  if (isOwn && sameJson(objectAt(existing, "data"), data)) return false;
  const owners = existing.metadata["ownerReferences"];
  const ownerReferences = isOwn
    ? (owners ?? [])
    : [...(Array.isArray(owners) ? owners : []), controllerReferenceTo(claim)];
  const secret = { ...existing, ...typeMeta(SECRETS), metadata: { ...existing.metadata, ownerReferences }, data };
  await refusalWithoutValues(target, context.actors.xr.client.update(secret, options));
  return true;
}

async function readSource(
  context: ClaimContext,
  composite: LiveObject,
  name: string,
  namespace: string,
): Promise<LiveObject> {
  const source = await findLive(context.actors.xr, referenceOf(SECRETS, name, namespace), context.signal);
  if (source === undefined) {
    throw new ClaimError("SecretNotFound", `the composite's connection secret ${namespace}/${name} does not exist yet`);
  }
  if (isControlledBy(source, composite)) return source;
  throw new ClaimError(
    "SecretOfAnother",
    `the composite does not control the secret ${namespace}/${name} that it names, so it is not copied`,
  );
}

/** Leaves the server's message out, because it may quote values of a refused Secret. */
async function refusalWithoutValues(name: string, request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!isApiError(error, "Invalid", "Forbidden")) throw error;
    const reason = error.code === "Forbidden" ? "by its access rules or a quota" : "as invalid";
    throw new ClaimError("SecretRefused", `the server refuses the secret ${name} ${reason} (${String(error.status)})`);
  }
}
