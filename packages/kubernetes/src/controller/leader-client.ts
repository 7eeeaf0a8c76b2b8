import { ApiError } from "../client/api-error.ts";
import type { Client, RequestOptions } from "../client/client.ts";
import type { HeldLease } from "./elect-leader.ts";

/**
 * The same client, whose writes end with a lease: none is begun without it, and none is tried again after it. What was sent may
 * still be done by the server; preconditions are for that.
 */
export function whileHeld(client: Client, lease: Pick<HeldLease, "held" | "lost">): Client {
  const guarded = <O extends RequestOptions>(options: O | undefined): O => {
    if (!lease.held) throw new ApiError("Aborted", "not written: the lease is no longer held");
    const signal = options?.signal === undefined ? lease.lost : AbortSignal.any([options.signal, lease.lost]);
    return { ...options, signal } as O;
  };
  return {
    get: (reference, options) => client.get(reference, options),
    list: (kind, options) => client.list(kind, options),
    watch: (kind, options) => client.watch(kind, options),
    kind: (apiVersion, kind, options) => client.kind(apiVersion, kind, options),
    forgetKinds: () => client.forgetKinds(),
    create: async (object, options) => client.create(object, guarded(options)),
    update: async (object, options) => client.update(object, guarded(options)),
    apply: async (object, options) => client.apply(object, guarded(options)),
    patch: async (reference, type, body, options) => client.patch(reference, type, body, guarded(options)),
    delete: async (reference, options) => client.delete(reference, guarded(options)),
    raw: async (method, path, options) => client.raw(method, path, method === "GET" ? options : guarded(options)),
  };
}
