import type { Client } from "./client.ts";

/**
 * Returns the same client with the rights of another user. Discovery of kinds, which is the same for all users, stays
 * the client's own.
 *
 * @param as such as `system:serviceaccount:NAMESPACE:NAME`; the client needs the right to impersonate that user
 */
export function impersonatingClient(client: Client, as: string): Client {
  return {
    get: (reference, options) => client.get(reference, { ...options, as }),
    list: (kind, options) => client.list(kind, { ...options, as }),
    watch: (kind, options) => client.watch(kind, { ...options, as }),
    kind: (apiVersion, kind, options) => client.kind(apiVersion, kind, options),
    forgetKinds: (apiVersion) => client.forgetKinds(apiVersion),
    create: (object, options) => client.create(object, { ...options, as }),
    update: (object, options) => client.update(object, { ...options, as }),
    apply: (object, options) => client.apply(object, { ...options, as }),
    patch: (reference, type, body, options) => client.patch(reference, type, body, { ...options, as }),
    delete: (reference, options) => client.delete(reference, { ...options, as }),
    raw: (method, path, options) => client.raw(method, path, { ...options, as }),
  };
}
