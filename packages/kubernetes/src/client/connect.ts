import type { ClusterAccess } from "../auth/access.ts";
import { loadKubeconfig } from "../auth/kubeconfig.ts";
import { openTransport } from "../transport/http2-transport.ts";
import { ApiError } from "./api-error.ts";
import type { ConnectedClient } from "./client.ts";
import { Discovery } from "./discovery.ts";
import { KindRequests } from "./kind-requests.ts";
import { getObject, listObjects, watchObjects } from "./read-objects.ts";
import { Requester, type RequestOutcome } from "./request.ts";
import { versionPath } from "./resource-path.ts";
import type { RateLimit } from "./token-bucket.ts";
import { deleteObject, objectWriter } from "./write-objects.ts";

/** Bounds a client that misbehaves. The server shares its capacity among clients itself (API priority and fairness). */
export const DEFAULT_RATE_LIMIT: RateLimit = { perSecond: 2_000, burst: 4_000 };
// A server answers most requests within 10 ms, and gives up on any after 60 s.
const TIMEOUT_MS = 60_000;
// Bookmarks arrive every minute. After three missing ones, the watch is dead.
const WATCH_IDLE_MS = 200_000;

export interface ConnectOptions {
  /** The server and the credentials. Default: {@link loadKubeconfig} without arguments. */
  readonly access?: ClusterAccess | undefined;
  /** The default field manager of writes. */
  readonly fieldManager: string;
  /** `program/version`. Default: `xfn` */
  readonly userAgent?: string | undefined;
  /** Default {@link DEFAULT_RATE_LIMIT}. */
  readonly rateLimit?: RateLimit | undefined;
  /** Limit for the head of a response, and again for its body, in milliseconds. Default 60 s. */
  readonly timeoutMs?: number | undefined;
  /** Ends a watch that gets no event, not even a bookmark, for this time in milliseconds. Default 200 s. */
  readonly watchIdleMs?: number | undefined;
  /** Called after each request, for metrics. */
  readonly onRequest?: ((outcome: RequestOutcome) => void) | undefined;
}

/**
 * Returns a client of an API server. It connects at the first request, and again when the connection breaks.
 *
 * @throws {KubeconfigError} the environment names no usable API server
 */
export async function connect(options: ConnectOptions): Promise<ConnectedClient> {
  const access = options.access ?? (await loadKubeconfig());
  const { fieldManager, timeoutMs = TIMEOUT_MS, watchIdleMs = WATCH_IDLE_MS, onRequest } = options;
  const transport = openTransport(access);
  const requester = new Requester({
    access,
    transport,
    timeoutMs,
    rateLimit: options.rateLimit ?? DEFAULT_RATE_LIMIT,
    userAgent: options.userAgent ?? "xfn",
    onRequest,
  });
  const discovery = new Discovery((path) =>
    requester.json({ what: `discover ${path}`, verb: "discover", resource: "", method: "GET", path }),
  );
  const requests = new KindRequests(requester, discovery);
  return {
    get: (reference, read) => getObject(requests, reference, read),
    list: (kind, list) => listObjects(requests, kind, list),
    watch: (kind, watch) => watchObjects(requests, kind, watch, watchIdleMs),
    ...objectWriter(requests, fieldManager),
    delete: (reference, deletion) => deleteObject(requests, reference, deletion),
    async kind(apiVersion, kind, { signal } = {}) {
      versionPath(apiVersion);
      if (signal?.aborted === true) {
        throw new ApiError("Aborted", `discover ${kind} of ${apiVersion}: aborted by the caller`);
      }
      return discovery.kind(apiVersion, kind);
    },
    forgetKinds: (apiVersion) => discovery.forget(apiVersion),
    raw: (method, path, { signal, as, body } = {}) =>
      requester.json({ what: `${method} ${path}`, verb: "raw", resource: "", method, path, body, signal, as }),
    async close() {
      transport.close();
    },
  };
}
