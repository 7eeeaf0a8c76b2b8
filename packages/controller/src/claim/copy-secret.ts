import type { JsonObject } from "@xfn/functionio";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import { SECRET_TYPE_CONNECTION } from "../objects/labels.ts";
import { controllerOf } from "../objects/owner.ts";
import { apiVersionOf, findLive, objectAt, textAt } from "../objects/read-objects.ts";
import { sameJson } from "../objects/same-json.ts";
import type { ClaimWork } from "./claim-context.ts";
import { ClaimProblem } from "./claim-error.ts";
import { CLAIM_MANAGER } from "./claim-fields.ts";

const SECRET = { apiVersion: "v1", kind: "Secret" } as const;

/**
 * Copies a composite's connection secret into the claim's namespace, under the name that the claim wants. Only a secret that the
 * composite controls is copied: a reference must not be a way to read the secrets of others. Only one that is the claim's is
 * written, or a connection secret that nobody controls.
 *
 * @returns whether it was written
 * @throws {ClaimProblem} `SecretNotFound`, `SecretOfAnother`
 */
export async function copySecret(work: ClaimWork, composite: LiveObject): Promise<boolean> {
  const { context, claim, signal } = work;
  const wanted = textAt(claim, "spec", "writeConnectionSecretToRef", "name");
  const name = textAt(composite, "spec", "writeConnectionSecretToRef", "name");
  const namespace = textAt(composite, "spec", "writeConnectionSecretToRef", "namespace");
  if (wanted === undefined || name === undefined || namespace === undefined) return false;
  const source = await findLive(context, { ...SECRET, name, namespace }, signal);
  if (source === undefined) {
    throw new ClaimProblem("SecretNotFound", `the composite's connection secret ${namespace}/${name} is not there yet`);
  }
  if (controllerOf(source)?.uid !== composite.metadata.uid) {
    throw new ClaimProblem(
      "SecretOfAnother",
      `the secret ${namespace}/${name}, which the composite names as its own, is not controlled by it and is not copied`,
    );
  }
  const existing = await findLive(context, { ...SECRET, name: wanted, namespace: claim.metadata.namespace }, signal);
  const data = objectAt(source, "data");
  if (existing === undefined) {
    const metadata = { name: wanted, namespace: claim.metadata.namespace ?? "", ownerReferences: [ownerOf(work)] };
    const secret = { ...SECRET, metadata, type: SECRET_TYPE_CONNECTION, data };
    await written(wanted, context.client.create(secret, { fieldManager: CLAIM_MANAGER, signal }));
    return true;
  }
  const owner = controllerOf(existing);
  const isOurs = owner?.uid === claim.metadata.uid;
  if (!isOurs && (owner !== undefined || existing["type"] !== SECRET_TYPE_CONNECTION)) {
    throw new ClaimProblem(
      "SecretOfAnother",
      `the secret ${wanted} in ${claim.metadata.namespace ?? ""} is not this claim's and is left as it is; ` +
        "name another in spec.writeConnectionSecretToRef, or delete it",
    );
  }
  if (isOurs && sameJson(objectAt(existing, "data"), data)) return false;
  const owners = existing.metadata["ownerReferences"];
  const ownerReferences = isOurs ? (owners ?? []) : [...(Array.isArray(owners) ? owners : []), ownerOf(work)];
  const secret = { ...existing, ...SECRET, metadata: { ...existing.metadata, ownerReferences }, data };
  await written(wanted, context.client.update(secret, { fieldManager: CLAIM_MANAGER, signal }));
  return true;
}

/** What a server says of a secret that it refuses may quote values of it: it is not repeated. */
async function written(name: string, request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!isApiError(error, "Invalid", "Forbidden")) throw error;
    const why = error.code === "Forbidden" ? "by its access rules or a quota" : "as invalid";
    throw new ClaimProblem("SecretRefused", `the server refuses the secret ${name} ${why} (${String(error.status)})`);
  }
}

function ownerOf({ claim, claims }: ClaimWork): JsonObject {
  const { name, uid } = claim.metadata;
  return { apiVersion: apiVersionOf(claims), kind: claims.kind, name, uid, controller: true, blockOwnerDeletion: true };
}
