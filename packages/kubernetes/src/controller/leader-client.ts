import { ApiError } from "../client/api-error.ts";
import type { Client, RequestOptions } from "../client/client.ts";
import type { LeaderLease } from "./acquired-lease.ts";

/**
 * Returns the same client for a leader: it starts and retries no write after the lease is lost. The server may still
 * execute a write that was sent before; preconditions protect against that.
 */
export function leaderClient(client: Client, lease: Pick<LeaderLease, "lost" | "valid">): Client {
  const signalOf = (options: RequestOptions | undefined): AbortSignal => {
    if (!lease.valid) throw new ApiError("Aborted", "not written: this process is no longer the leader");
    return options?.signal === undefined ? lease.lost : AbortSignal.any([options.signal, lease.lost]);
  };
  return {
    get: (reference, options) => client.get(reference, options),
    list: (kind, options) => client.list(kind, options),
    watch: (kind, options) => client.watch(kind, options),
    kind: (apiVersion, kind, options) => client.kind(apiVersion, kind, options),
    forgetKinds: (apiVersion) => client.forgetKinds(apiVersion),
    create: async (object, options) => client.create(object, { ...options, signal: signalOf(options) }),
    update: async (object, options) => client.update(object, { ...options, signal: signalOf(options) }),
    apply: async (object, options) => client.apply(object, { ...options, signal: signalOf(options) }),
    patch: async (reference, type, body, options) =>
      client.patch(reference, type, body, { ...options, signal: signalOf(options) }),
    delete: async (reference, options) => client.delete(reference, { ...options, signal: signalOf(options) }),
    raw: async (method, path, options) =>
      client.raw(method, path, method === "GET" ? options : { ...options, signal: signalOf(options) }),
  };
}
