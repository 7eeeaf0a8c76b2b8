import { isObject, type JsonValue } from "@xfn/json";
import { ApiError, isApiError } from "./api-error.ts";
import type {
  GetOptions,
  ListOptions,
  LiveObject,
  ObjectList,
  ObjectReference,
  ResourceKind,
  WatchEvent,
  WatchOptions,
} from "./client.ts";
import { type KindRequests, objectPath } from "./kind-requests.ts";
import { apiVersionOf, describe, liveObject } from "./object-identity.ts";
import { PageLimit } from "./page-limit.ts";
import { resourcePath } from "./resource-path.ts";
import { readWatch, watchSeconds } from "./watch.ts";

// Continue tokens last for five minutes, and the longest lists take some tens of seconds.
const ATTEMPTS = 3;

export async function getObject(
  requests: KindRequests,
  reference: ObjectReference,
  { signal, subresource, as }: GetOptions = {},
): Promise<LiveObject> {
  const kind = await requests.discovery.kind(reference.apiVersion, reference.kind);
  const what = `get ${describe(reference)}${subresource === undefined ? "" : ` (${subresource})`}`;
  const path = objectPath(kind, reference, subresource);
  return liveObject(what, await requests.json(kind, { what, verb: "get", method: "GET", path, signal, as }));
}

/**
 * Lists all pages. The pages of a list whose continue token expires are read again: a list in one piece would need all
 * its memory at once.
 */
export async function listObjects(
  requests: KindRequests,
  kind: ResourceKind,
  options: ListOptions = {},
): Promise<ObjectList> {
  const limit = new PageLimit(options.pageSize);
  for (let attempts = 1; ; attempts++) {
    const list = await listPages(requests, kind, options, limit, attempts === ATTEMPTS);
    if (list !== undefined) return list;
  }
}

/** @returns undefined if the continue token expired and this is not the last attempt */
async function listPages(
  requests: KindRequests,
  kind: ResourceKind,
  options: ListOptions,
  limit: PageLimit,
  isLast: boolean,
): Promise<ObjectList | undefined> {
  const what = `list ${kind.plural}`;
  const base = resourcePath(kind, options.namespace);
  const { signal, metadataOnly = false, as, maxItems = Infinity, maxBytes = Infinity } = options;
  const own = options.transform?.();
  const transform = metadataOnly ? (object: LiveObject) => (own ?? unchanged)(metadataOf(kind, object)) : own;
  const request = { what, verb: "list", method: "GET", accept: acceptOf(metadataOnly, "List"), signal, as };
  const items: LiveObject[] = [];
  let bytes = 0;
  const query = selectors(options);
  for (;;) {
    query.set("limit", String(Math.min(limit.items, maxItems - items.length)));
    const before = bytes;
    let page: Page;
    try {
      const path = `${base}?${query.toString()}`;
      const onBody = (read: number): void => void (bytes += read);
      page = readPage(what, kind, await requests.json(kind, { ...request, path, onBody }));
    } catch (error) {
      if (query.has("continue") && !isLast && isApiError(error, "Expired")) return undefined;
      throw error;
    }
    limit.read(page.items.length, bytes - before);
    for (const item of page.items) items.push(transform === undefined ? item : transform(item));
    const isDone = page.continue === "" || items.length >= maxItems || bytes > maxBytes;
    if (isDone) return { items, resourceVersion: page.resourceVersion, bytes };
    query.set("continue", page.continue);
  }
}

export async function* watchObjects(
  requests: KindRequests,
  kind: ResourceKind,
  options: WatchOptions,
  idleMs: number,
): AsyncGenerator<WatchEvent, void, void> {
  const what = `watch ${kind.plural}`;
  const { signal, metadataOnly = false, as } = options;
  const query = selectors(options);
  query.set("watch", "true");
  query.set("allowWatchBookmarks", "true");
  query.set("resourceVersion", options.resourceVersion);
  query.set("timeoutSeconds", String(options.timeoutSeconds ?? watchSeconds()));
  const path = `${resourcePath(kind, options.namespace)}?${query.toString()}`;
  const request = { what, verb: "watch", method: "GET", accept: acceptOf(metadataOnly, ""), path, signal, as };
  const events = readWatch(what, await requests.stream(kind, request), idleMs, signal);
  if (!metadataOnly) yield* events;
  else for await (const { type, object } of events) yield { type, object: metadataOf(kind, object) };
}

// Without the second type, servers that only know whole objects would answer 406 (Kubernetes API concepts, "Alternate
// representations of resources").
function acceptOf(metadataOnly: boolean, suffix: "" | "List"): string | undefined {
  if (!metadataOnly) return undefined;
  return `application/json;as=PartialObjectMetadata${suffix};g=meta.k8s.io;v=v1,application/json`;
}

const unchanged = (object: LiveObject): LiveObject => object;

/** The metadata of an object as one of its own kind, whichever form the server sent. */
function metadataOf(kind: ResourceKind, { metadata }: LiveObject): LiveObject {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata };
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
