import type { KubernetesObject } from "@xfn/json";
import { ApiError } from "../src/client/api-error.ts";
import type { Client, LiveObject, ObjectReference } from "../src/client/client.ts";

/** A client on objects in memory, with a server's conflicts. */
export interface ObjectStore {
  readonly client: Client;
  /** All writes in order: `create Event`. */
  readonly writes: string[];
  readonly objects: Map<string, LiveObject>;
  /** While set, every request fails with it. */
  failure: ApiError | undefined;
  /** While set, requests wait for it. */
  blocked: Promise<void> | undefined;
}

export function objectStore(): ObjectStore {
  const objects = new Map<string, LiveObject>();
  const writes: string[] = [];
  let version = 0;
  const keyOf = ({ kind, namespace, name }: ObjectReference): string => `${kind} ${namespace ?? ""}/${name}`;
  const referenceOf = ({ apiVersion = "", kind = "", metadata }: KubernetesObject): ObjectReference => ({
    apiVersion,
    kind,
    name: String(metadata?.name),
    namespace: metadata?.namespace,
  });
  const find = (reference: ObjectReference): LiveObject => {
    const found = objects.get(keyOf(reference));
    if (found === undefined) throw new ApiError("NotFound", `no ${keyOf(reference)}`);
    return structuredClone(found);
  };
  const put = (verb: string, reference: ObjectReference, object: KubernetesObject): LiveObject => {
    writes.push(`${verb} ${reference.kind}`);
    const live = structuredClone(object) as LiveObject;
    live.metadata = { ...live.metadata, uid: keyOf(reference), resourceVersion: String(++version) };
    objects.set(keyOf(reference), live);
    return structuredClone(live);
  };
  const asked = async (signal: AbortSignal | undefined): Promise<void> => {
    await store.blocked;
    if (signal?.aborted === true) throw new ApiError("Aborted", "aborted");
    if (store.failure !== undefined) throw store.failure;
  };
  const client: Partial<Client> = {
    async get(reference, options) {
      await asked(options?.signal);
      return find(reference);
    },
    async create(object, options) {
      await asked(options?.signal);
      const reference = referenceOf(object);
      if (objects.has(keyOf(reference))) throw new ApiError("AlreadyExists", "it exists");
      return put("create", reference, object);
    },
    async update(object, options) {
      await asked(options?.signal);
      const reference = referenceOf(object);
      if (find(reference).metadata.resourceVersion !== object.metadata?.["resourceVersion"]) {
        throw new ApiError("Conflict", "it changed");
      }
      return put("update", reference, object);
    },
    async patch(reference, _type, body, options) {
      await asked(options?.signal);
      return put("patch", reference, { ...find(reference), ...(body as object) });
    },
  };
  const store: ObjectStore = { client: client as Client, writes, objects, failure: undefined, blocked: undefined };
  return store;
}
