import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/functionio";
import type { ClusterAccess } from "../auth/access.ts";
import { loadKubeconfig } from "../auth/kubeconfig.ts";
import { openTransport } from "../transport/http2-transport.ts";
import { ApiError, isApiError } from "./api-error.ts";
import type {
  ConnectedClient,
  DeleteOptions,
  ListOptions,
  LiveObject,
  ObjectList,
  ObjectReference,
  RequestOptions,
  ResourceKind,
  WatchOptions,
  WriteOptions,
} from "./client.ts";
import { startDiscovery } from "./discovery.ts";
import { limiter, type RateLimit } from "./rate-limit.ts";
import { type ApiRequest, type RequestOutcome, requester } from "./request.ts";
import { resourcePath, versionPath } from "./resource-path.ts";
import { readWatch } from "./watch.ts";

/** Only a bound on what goes wrong: the server shares itself out among its clients on its own (priority and fairness). */
export const DEFAULT_RATE_LIMIT: RateLimit = { perSecond: 2_000, burst: 4_000 };
/** A server answers most requests within 10 ms, and gives up on any after 60 s. */
export const DEFAULT_TIMEOUT_MS = 60_000;
// The page size of Kubernetes' own controllers: some hundred KB a page.
const PAGE_SIZE = 500;
// As reflectors of Kubernetes have it: each watch ends after 5 to 10 minutes, so that servers can share them out again.
const WATCH_SECONDS = 300;
// Bookmarks come every minute; after three of them have not come, none will.
const WATCH_IDLE_MS = 200_000;

/** How to connect. */
export interface ConnectOptions {
  /** Where to and who as. Default: {@link loadKubeconfig} without arguments. */
  readonly access?: ClusterAccess | undefined;
  /** Whose fields writes become, unless they say otherwise. */
  readonly fieldManager: string;
  /** `program/version`. Default: `xfn` */
  readonly userAgent?: string | undefined;
  /** Default {@link DEFAULT_RATE_LIMIT}. */
  readonly rateLimit?: RateLimit | undefined;
  /** For the head of an answer, and for the rest of it, in milliseconds. Default {@link DEFAULT_TIMEOUT_MS}. */
  readonly timeoutMs?: number | undefined;
  /** A watch without any event, bookmarks among them, ends after this time. Default 200 s. */
  readonly watchIdleMs?: number | undefined;
  /** Told of each request when it has ended, for metrics. */
  readonly onRequest?: ((outcome: RequestOutcome) => void) | undefined;
}

/**
 * Connects to an API server: at the first request, and again whenever it must.
 *
 * @throws {KubeconfigError} there is no way to an API server in this environment
 */
export async function connect(options: ConnectOptions): Promise<ConnectedClient> {
  const access = options.access ?? (await loadKubeconfig());
  const { timeoutMs = DEFAULT_TIMEOUT_MS, watchIdleMs = WATCH_IDLE_MS, rateLimit = DEFAULT_RATE_LIMIT } = options;
  const transport = openTransport(access);
  // `https://host/k8s/clusters/c-1`: a gateway's path comes before all of ours.
  const prefix = new URL(access.server).pathname.replace(/\/$/, "");
  const requests = requester({
    access,
    transport,
    timeoutMs,
    limit: limiter(rateLimit),
    userAgent: options.userAgent ?? "xfn",
    onRequest: options.onRequest,
  });
  const send = (request: ApiRequest): Promise<JsonValue> =>
    requests.json({ ...request, path: `${prefix}${request.path}` });
  const discovery = startDiscovery((path) =>
    send({ what: `discover ${path}`, verb: "discover", resource: "", method: "GET", path }),
  );

  /** Sends a request about a kind. A kind that went takes what was known of it along. */
  const about = async (kind: ResourceKind, request: ApiRequest): Promise<JsonValue> => {
    try {
      return await send(request);
    } catch (error) {
      if (isApiError(error, "KindNotServed")) discovery.forget(apiVersionOf(kind));
      throw error;
    }
  };
  const write = async (
    verb: "create" | "update" | "apply" | "patch",
    to: ObjectReference,
    body: JsonValue,
    { signal, fieldManager = options.fieldManager, fieldValidation = "Ignore", dryRun, subresource }: WriteOptions,
    more: { method: string; contentType?: string; query?: string },
  ): Promise<LiveObject> => {
    const kind = await discovery.kind(to.apiVersion, to.kind);
    let path = resourcePath(kind, namespaceFor(kind, to), verb === "create" ? undefined : to.name);
    if (subresource !== undefined) path += `/${subresource}`;
    path += `?fieldManager=${encodeURIComponent(fieldManager)}&fieldValidation=${fieldValidation}${more.query ?? ""}`;
    if (dryRun === true) path += "&dryRun=All";
    const { method, contentType } = more;
    const what = `${verb} ${describe(to)}${subresource === undefined ? "" : ` (${subresource})`}`;
    return liveObject(
      what,
      await about(kind, { what, verb, resource: resourceOf(kind), method, path, body, contentType, signal }),
    );
  };

  return {
    async get(reference, { signal }: RequestOptions = {}) {
      const kind = await discovery.kind(reference.apiVersion, reference.kind);
      const what = `get ${describe(reference)}`;
      const path = resourcePath(kind, namespaceFor(kind, reference), reference.name);
      return liveObject(
        what,
        await about(kind, { what, verb: "get", resource: resourceOf(kind), method: "GET", path, signal }),
      );
    },
    async list(kind, list: ListOptions = {}) {
      const what = `list ${kind.plural}`;
      const path = resourcePath(kind, list.namespace);
      const page = async (query: URLSearchParams): Promise<Page> =>
        readPage(
          what,
          kind,
          await about(kind, {
            what,
            verb: "list",
            resource: resourceOf(kind),
            method: "GET",
            path: `${path}?${query.toString()}`,
            signal: list.signal,
          }),
        );
      const selected = selectors(list);
      selected.set("limit", String(list.pageSize ?? PAGE_SIZE));
      let answer = await page(selected);
      const items = answer.items;
      while (answer.continue !== "") {
        selected.set("continue", answer.continue);
        try {
          answer = await page(selected);
        } catch (error) {
          if (!isApiError(error, "Expired")) throw error;
          // The pages were fetched too slowly to belong together: all at once, as it is now.
          const { items: all, resourceVersion } = await page(selectors(list));
          return { items: all, resourceVersion } satisfies ObjectList;
        }
        for (const item of answer.items) items.push(item);
      }
      return { items, resourceVersion: answer.resourceVersion } satisfies ObjectList;
    },
    async *watch(kind, watch: WatchOptions) {
      const what = `watch ${kind.plural}`;
      const query = selectors(watch);
      query.set("watch", "true");
      query.set("allowWatchBookmarks", "true");
      query.set("resourceVersion", watch.resourceVersion);
      query.set("timeoutSeconds", String(Math.round(WATCH_SECONDS * (1 + Math.random()))));
      const path = `${prefix}${resourcePath(kind, watch.namespace)}?${query.toString()}`;
      const { signal } = watch;
      let response: Awaited<ReturnType<typeof requests.stream>>;
      try {
        response = await requests.stream({
          what,
          verb: "watch",
          resource: resourceOf(kind),
          method: "GET",
          path,
          signal,
        });
      } catch (error) {
        if (isApiError(error, "KindNotServed")) discovery.forget(apiVersionOf(kind));
        throw error;
      }
      yield* readWatch(what, response, watchIdleMs, signal);
    },
    create: (object, options = {}) =>
      write("create", referenceOf(object, false), json(object), options, { method: "POST" }),
    update: (object, options = {}) => write("update", referenceOf(object), json(object), options, { method: "PUT" }),
    apply: (object, { force = true, ...options } = {}) =>
      write("apply", referenceOf(object), json(object), options, {
        method: "PATCH",
        contentType: "application/apply-patch+yaml",
        query: `&force=${force}`,
      }),
    patch: (reference, type, body, options = {}) =>
      write("patch", reference, body, options, { method: "PATCH", contentType: `application/${type}-patch+json` }),
    async delete(reference, { signal, preconditions, propagationPolicy }: DeleteOptions = {}) {
      const kind = await discovery.kind(reference.apiVersion, reference.kind);
      const what = `delete ${describe(reference)}`;
      const path = resourcePath(kind, namespaceFor(kind, reference), reference.name);
      const body: JsonObject = { apiVersion: "v1", kind: "DeleteOptions" };
      if (preconditions !== undefined) body["preconditions"] = { ...preconditions };
      if (propagationPolicy !== undefined) body["propagationPolicy"] = propagationPolicy;
      const answer = await about(kind, {
        what,
        verb: "delete",
        resource: resourceOf(kind),
        method: "DELETE",
        path,
        body,
        signal,
      });
      // A Status where it is gone; the object, with its finalizers, where it is not.
      return isLive(answer) && answer.kind === kind.kind ? answer : undefined;
    },
    async kind(apiVersion, kind, { signal }: RequestOptions = {}) {
      versionPath(apiVersion);
      if (signal?.aborted === true) throw new ApiError("Aborted", `discover ${kind} of ${apiVersion}: given up`);
      return discovery.kind(apiVersion, kind);
    },
    forgetKinds: () => discovery.forget(),
    raw: (method, path, { signal, body } = {}) =>
      send({ what: `${method} ${path}`, verb: "raw", resource: "", method, path, body, signal }),
    async close() {
      transport.close();
    },
  };
}

interface Page {
  readonly items: LiveObject[];
  readonly resourceVersion: string;
  /** "" after the last page. */
  readonly continue: string;
}

function readPage(what: string, kind: ResourceKind, answer: JsonValue): Page {
  const metadata = isObject(answer) ? answer["metadata"] : undefined;
  const items = isObject(answer) ? (answer["items"] ?? []) : undefined;
  if (!isObject(metadata) || !Array.isArray(items)) throw new ApiError("ServerError", `${what}: the answer is no list`);
  const apiVersion = apiVersionOf(kind);
  const { resourceVersion, continue: token } = metadata;
  return {
    items: items.filter(isObject).map((item) => {
      // Lists of built-in kinds leave out what all items have in common.
      item["apiVersion"] ??= apiVersion;
      item["kind"] ??= kind.kind;
      return liveObject(what, item);
    }),
    resourceVersion: typeof resourceVersion === "string" ? resourceVersion : "",
    continue: typeof token === "string" ? token : "",
  };
}

function selectors({ labelSelector, fieldSelector }: ListOptions): URLSearchParams {
  const query = new URLSearchParams();
  if (labelSelector !== undefined) query.set("labelSelector", labelSelector);
  if (fieldSelector !== undefined) query.set("fieldSelector", fieldSelector);
  return query;
}

function apiVersionOf({ group, version }: ResourceKind): string {
  return group === "" ? version : `${group}/${version}`;
}

function resourceOf({ group, plural }: ResourceKind): string {
  return group === "" ? plural : `${plural}.${group}`;
}

function referenceOf(object: KubernetesObject, named = true): ObjectReference {
  const { apiVersion, kind, metadata } = object;
  const name = metadata?.name;
  if (typeof apiVersion !== "string" || typeof kind !== "string") {
    throw new ApiError("Invalid", `object ${String(name ?? "")}: apiVersion or kind is missing`);
  }
  if (typeof name !== "string" && named) throw new ApiError("Invalid", `${kind}: metadata.name is missing`);
  const namespace = metadata?.namespace;
  return { apiVersion, kind, name: typeof name === "string" ? name : "", namespace: namespace ?? undefined };
}

/** A namespaced object without one is the caller's mistake; a silent `default` would put it where nobody looks. */
function namespaceFor(kind: ResourceKind, { name, namespace }: ObjectReference): string | undefined {
  if (kind.namespaced && (namespace === undefined || namespace === "")) {
    throw new ApiError("Invalid", `${kind.kind} ${name}: the kind is namespaced, and metadata.namespace is missing`);
  }
  return namespace === "" ? undefined : namespace;
}

function describe({ kind, name, namespace }: ObjectReference): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

function json(object: KubernetesObject): JsonValue {
  return object;
}

function liveObject(what: string, value: JsonValue): LiveObject {
  if (!isLive(value)) throw new ApiError("ServerError", `${what}: the answer is no object with a name`);
  return value;
}

function isLive(value: JsonValue | LiveObject): value is LiveObject {
  const metadata = isObject(value) ? value["metadata"] : undefined;
  return isObject(metadata) && typeof metadata["name"] === "string";
}
