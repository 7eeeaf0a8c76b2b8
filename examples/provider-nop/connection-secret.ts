import { isObject, type JsonObject, objectAt, objectsAt } from "@xfn/json";
import { ApiError, type Client, isApiError, type LiveObject } from "@xfn/kubernetes";
import { readSpec } from "./nop-resource.ts";

/**
 * Writes the connection secret of a resource, unless it is up to date.
 *
 * @throws {ApiError} Conflict, if a secret of that name exists that the resource does not control
 */
export async function writeConnectionSecret(client: Client, resource: LiveObject): Promise<void> {
  const { secret, connectionDetails } = readSpec(resource);
  if (secret === undefined) return;
  const { name, namespace } = secret;
  const { uid } = resource.metadata;
  const data: JsonObject = {};
  for (const [key, value] of connectionDetails) data[key] = Buffer.from(value).toString("base64");
  const found = await find(client, name, namespace);
  if (found !== undefined) {
    const owned = objectsAt(found.metadata, "ownerReferences").some((owner) => owner["uid"] === uid);
    if (!owned)
      throw new ApiError("Conflict", `the secret ${namespace}/${name} is not that of ${resource.metadata.name}`);
    if (isSame(objectAt(found, "data"), data)) return;
  }
  const { apiVersion, kind } = resource;
  const owner = { apiVersion, kind, name: resource.metadata.name, uid, controller: true, blockOwnerDeletion: true };
  await client.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace, ownerReferences: [owner] },
    type: "connection.crossplane.io/v1alpha1",
    data,
  });
}

async function find(client: Client, name: string, namespace: string): Promise<LiveObject | undefined> {
  try {
    return await client.get({ apiVersion: "v1", kind: "Secret", name, namespace });
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  }
}

function isSame(a: JsonObject, b: JsonObject): boolean {
  const keys = Object.keys(a);
  return isObject(b) && keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
