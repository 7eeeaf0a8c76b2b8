import { isObject, type JsonValue } from "@xfn/functionio";
import { ApiError, isApiError } from "./api-error.ts";
import type {
  ListOptions,
  LiveObject,
  ObjectList,
  ObjectReference,
  RequestOptions,
  ResourceKind,
  WatchEvent,
  WatchOptions,
} from "./client.ts";
import { type KindRequests, objectPath } from "./kind-requests.ts";
import { apiVersionOf, describe, liveObject } from "./object-identity.ts";
import { resourcePath } from "./resource-path.ts";
import { readWatch } from "./watch.ts";

// The page size of Kubernetes' own controllers: some hundred KB a page.
const PAGE_SIZE = 500;
// Reflectors of client-go end each watch after 5 to 10 minutes, so that load spreads over the servers again.
const WATCH_SECONDS = 300;

export async function getObject(
  requests: KindRequests,
  reference: ObjectReference,
  { signal }: RequestOptions = {},
): Promise<LiveObject> {
  const kind = await requests.discovery.kind(reference.apiVersion, reference.kind);
  const what = `get ${describe(reference)}`;
  const path = objectPath(kind, reference);
  return liveObject(what, await requests.json(kind, { what, verb: "get", method: "GET", path, signal }));
}

/** Lists all pages. */
export async function listObjects(
  requests: KindRequests,
  kind: ResourceKind,
  options: ListOptions = {},
): Promise<ObjectList> {
  const what = `list ${kind.plural}`;
  const base = resourcePath(kind, options.namespace);
  const { signal } = options;
  const page = async (query: URLSearchParams): Promise<Page> => {
    const path = `${base}?${query.toString()}`;
    return readPage(what, kind, await requests.json(kind, { what, verb: "list", method: "GET", path, signal }));
  };
  const query = selectors(options);
  query.set("limit", String(options.pageSize ?? PAGE_SIZE));
  let last = await page(query);
  const { items } = last;
  while (last.continue !== "") {
    query.set("continue", last.continue);
    try {
      last = await page(query);
    } catch (error) {
      if (!isApiError(error, "Expired")) throw error;
      // The continue token expired between two pages: fetch the current list in one piece.
      const all = await page(selectors(options));
      return { items: all.items, resourceVersion: all.resourceVersion };
    }
    for (const item of last.items) items.push(item);
  }
  return { items, resourceVersion: last.resourceVersion };
}

export async function* watchObjects(
  requests: KindRequests,
  kind: ResourceKind,
  options: WatchOptions,
  idleMs: number,
): AsyncGenerator<WatchEvent, void, void> {
  const what = `watch ${kind.plural}`;
  const { signal } = options;
  const query = selectors(options);
  query.set("watch", "true");
  query.set("allowWatchBookmarks", "true");
  query.set("resourceVersion", options.resourceVersion);
  query.set("timeoutSeconds", String(Math.round(WATCH_SECONDS * (1 + Math.random()))));
  const path = `${resourcePath(kind, options.namespace)}?${query.toString()}`;
  const response = await requests.stream(kind, { what, verb: "watch", method: "GET", path, signal });
  yield* readWatch(what, response, idleMs, signal);
}

interface Page {
  readonly items: LiveObject[];
  readonly resourceVersion: string;
  /** "" after the last page. */
  readonly continue: string;
}

function readPage(what: string, kind: ResourceKind, response: JsonValue): Page {
  const metadata = isObject(response) ? response["metadata"] : undefined;
  const items = isObject(response) ? (response["items"] ?? []) : undefined;
  if (!isObject(metadata) || !Array.isArray(items)) {
    throw new ApiError("ServerError", `${what}: the response is not a list`);
  }
  const apiVersion = apiVersionOf(kind);
  const { resourceVersion, continue: token } = metadata;
  return {
    items: items.filter(isObject).map((item) => {
      // Items in lists of built-in kinds have no apiVersion and kind.
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
