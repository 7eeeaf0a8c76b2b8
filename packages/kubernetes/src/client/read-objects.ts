import { isObject, type JsonValue } from "@xfn/functionio";
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
import { resourcePath } from "./resource-path.ts";
import { readWatch, watchSeconds } from "./watch.ts";

// The page size of Kubernetes' own controllers: some hundred KB a page.
const PAGE_SIZE = 500;

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

/** Lists all pages. */
export async function listObjects(
  requests: KindRequests,
  kind: ResourceKind,
  options: ListOptions = {},
): Promise<ObjectList> {
  const what = `list ${kind.plural}`;
  const base = resourcePath(kind, options.namespace);
  const { signal, metadataOnly = false, as } = options;
  const request = { what, verb: "list", method: "GET", accept: acceptOf(metadataOnly, "List"), signal, as };
  const page = async (query: URLSearchParams): Promise<Page> => {
    const path = `${base}?${query.toString()}`;
    const read = readPage(what, kind, await requests.json(kind, { ...request, path }));
    return metadataOnly ? { ...read, items: read.items.map((item) => metadataOf(kind, item)) } : read;
  };
  const query = selectors(options);
  query.set("limit", String(options.pageSize ?? PAGE_SIZE));
  let last = await page(query);
  const { items } = last;
  while (last.continue !== "" && items.length < (options.maxItems ?? Number.POSITIVE_INFINITY)) {
    query.set("continue", last.continue);
    try {
      last = await page(query);
    } catch (error) {
      if (!isApiError(error, "Expired")) throw error;
      // The continue token expired between two pages: fetch the current list in one piece.
      const whole = selectors(options);
      if (options.maxItems !== undefined) whole.set("limit", String(options.maxItems));
      const all = await page(whole);
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
