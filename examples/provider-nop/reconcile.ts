import { type JsonValue, objectAt, objectsAt, textAt } from "@xfn/json";
import { type Client, type Informer, isApiError, type LiveObject, type Reconcile } from "@xfn/kubernetes";
import { conditionsAt } from "./conditions.ts";
import { writeConnectionSecret } from "./connection-secret.ts";
import { API_VERSION, readSpec } from "./nop-resource.ts";
import { resolvePeer } from "./peer.ts";

const FINALIZER = "finalizer.managedresource.crossplane.io";
// Nothing reports that another resource has appeared, so look again.
const UNRESOLVED_MS = 2_000;

/** The dependencies of the reconciler. */
export interface NopContext {
  readonly client: Client;
  /** The informer of NopResources. */
  readonly resources: Pick<Informer, "kind" | "cache">;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Sets the conditions of one NopResource that are due. Its key is its name. */
export function nopReconciler({ client, resources, now }: NopContext): Reconcile {
  return async (name) => {
    const resource = resources.cache.get(name);
    if (resource === undefined || resource.metadata.annotations?.["crossplane.io/paused"] === "true") return undefined;
    const { deletionTimestamp } = resource.metadata;
    if (typeof deletionTimestamp === "string")
      return await remove(client, resource, Date.parse(deletionTimestamp), now());
    const finalized = await addFinalizer(client, resource);
    const resolved = await resolvePeer(client, finalized, resources, now());
    if (resolved === undefined) return { requeueAfterMs: UNRESOLVED_MS };
    const created = Date.parse(textAt(resource.metadata, "creationTimestamp") ?? "");
    const current = objectsAt(objectAt(resolved, "status"), "conditions");
    const { conditions, changed, ready, nextMs } = conditionsAt(readSpec(resolved), current, created, now());
    // Write the secret first, so that it exists once the resource is ready.
    if (ready) await writeConnectionSecret(client, resolved);
    if (changed) await client.patch(reference(name), "merge", { status: { conditions } }, { subresource: "status" });
    return nextMs === undefined ? undefined : { requeueAfterMs: nextMs };
  };
}

async function addFinalizer(client: Client, resource: LiveObject): Promise<LiveObject> {
  const { name, finalizers = [] } = resource.metadata;
  if (Array.isArray(finalizers) && finalizers.includes(FINALIZER)) return resource;
  return await client.patch(reference(name), "merge", withFinalizers(resource, [...list(finalizers), FINALIZER]));
}

async function remove(
  client: Client,
  resource: LiveObject,
  deletedAt: number,
  now: number,
): Promise<{ requeueAfterMs: number } | undefined> {
  const { name, finalizers } = resource.metadata;
  const rest = list(finalizers).filter((one) => one !== FINALIZER);
  if (rest.length === list(finalizers).length) return undefined;
  const left = deletedAt + readSpec(resource).deleteAfterMs - now;
  if (left > 0) return { requeueAfterMs: left };
  try {
    await client.patch(reference(name), "merge", withFinalizers(resource, rest));
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
  }
  return undefined;
}

// The resourceVersion makes a concurrent change of the finalizers a conflict.
function withFinalizers({ metadata }: LiveObject, finalizers: JsonValue[]): JsonValue {
  return { metadata: { finalizers, resourceVersion: metadata.resourceVersion } };
}

function list(finalizers: JsonValue | undefined): JsonValue[] {
  return Array.isArray(finalizers) ? finalizers : [];
}

function reference(name: string): { apiVersion: string; kind: string; name: string } {
  return { apiVersion: API_VERSION, kind: "NopResource", name };
}
