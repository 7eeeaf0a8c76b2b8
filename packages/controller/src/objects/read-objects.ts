import {
  type Client,
  type Informers,
  isApiError,
  type LiveObject,
  namingProblem,
  type ObjectReference,
  type ResourceKind,
} from "@xfn/kubernetes";
import { referenceOf } from "./kinds.ts";
import { ANNOTATION_PAUSED, selectorText } from "./labels.ts";

/** Reads objects of watched kinds from their caches, and other objects from the API server. */
export interface Reader {
  readonly client: Client;
  readonly informers: Informers;
}

/**
 * Lists the objects of a cluster-scoped kind that have these labels: from the cache if the kind is watched, otherwise
 * live.
 */
export async function listByLabels(
  { client, informers }: Reader,
  kind: ResourceKind,
  labels: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<readonly LiveObject[]> {
  const cache = informers.peek(kind);
  if (cache !== undefined) return cache.list().filter((object) => hasLabels(object, labels));
  return (await client.list(kind, { labelSelector: selectorText(labels), signal })).items;
}

/** Reads an object of a cluster-scoped kind: from the cache if the kind is watched, otherwise live. */
export async function findCached(
  reader: Reader,
  kind: ResourceKind,
  name: string,
  signal?: AbortSignal,
): Promise<LiveObject | undefined> {
  const cache = reader.informers.peek(kind);
  if (cache !== undefined) return cache.get(name);
  return findLive(reader, referenceOf(kind, name), signal);
}

/**
 * Reads an object from the API server; undefined if it does not exist.
 *
 * @throws {ApiError} also `KindNotServed`: the object may exist, because discovery may lag
 */
export async function findLive(
  { client }: Pick<Reader, "client">,
  reference: ObjectReference,
  signal?: AbortSignal,
): Promise<LiveObject | undefined> {
  // No object has an invalid name. Throwing here would block deletions until a user fixes the name.
  if (namingProblem(reference) !== undefined) return undefined;
  try {
    return await client.get(reference, { signal });
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** Whether an object has all of these labels. */
export function hasLabels({ metadata }: LiveObject, labels: Readonly<Record<string, string>>): boolean {
  const has = metadata.labels ?? {};
  return Object.keys(labels).every((key) => Object.hasOwn(has, key) && has[key] === labels[key]);
}

/** Whether a user has paused the reconciles of an object. */
export function isPaused({ metadata }: LiveObject): boolean {
  return metadata.annotations?.[ANNOTATION_PAUSED] === "true";
}
