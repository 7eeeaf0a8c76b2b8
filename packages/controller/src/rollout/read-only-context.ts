import type { Client } from "@xfn/kubernetes";
import { ACCESS_REVIEWS } from "../account/access-reviews.ts";
import type { Context } from "../objects/context.ts";

/**
 * A context whose reconciler changes nothing: applies are dry runs, other writes throw, and events, watches and
 * what XRs show on claims are dropped. Reviews of rights remain: the API server stores nothing of them.
 */
export function readOnlyContext(context: Context): Context {
  const { client, composed } = context;
  const refuse = (): Promise<never> => Promise.reject(new TypeError("a shadow run writes nothing"));
  const readOnly: Client = {
    get: (reference, options) => client.get(reference, options),
    list: (kind, options) => client.list(kind, options),
    watch: (kind, options) => client.watch(kind, options),
    kind: (apiVersion, kind, options) => client.kind(apiVersion, kind, options),
    forgetKinds: (apiVersion) => client.forgetKinds(apiVersion),
    apply: (object, options) => client.apply(object, { ...options, dryRun: true }),
    create: refuse,
    update: refuse,
    patch: refuse,
    delete: refuse,
    raw: (method, path, options) =>
      method === "GET" || path === ACCESS_REVIEWS ? client.raw(method, path, options) : refuse(),
  };
  return {
    ...context,
    client: readOnly,
    events: { record: () => undefined, flush: async () => undefined },
    composed: composed && { watch: () => undefined, cache: (kind) => composed.cache(kind) },
    required: undefined,
    claimConditions: undefined,
    // A response of an earlier run would hide what the function does now.
    responses: undefined,
    // A recording of an XR has the runs of its own revision.
    recordings: undefined,
  };
}
