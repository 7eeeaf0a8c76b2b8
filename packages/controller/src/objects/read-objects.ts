import { isObject, type JsonObject, type JsonValue } from "@xfn/functionio";
import { isApiError, type LiveObject, namingProblem, type ObjectReference, type ResourceKind } from "@xfn/kubernetes";
import type { Context } from "./context.ts";

/** All objects of a cluster-scoped kind that have some labels: from the cache of whoever watches the kind, else from the server. */
export async function listByLabels(
  context: Context,
  kind: ResourceKind,
  labels: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<readonly LiveObject[]> {
  const cache = context.informers.peek(kind);
  if (cache !== undefined) return cache.list().filter((object) => hasLabels(object, labels));
  const labelSelector = Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
  return (await context.client.list(kind, { labelSelector, signal })).items;
}

/** One object of a cluster-scoped kind, from the cache of whoever watches the kind, else from the server; undefined if there is none. */
export async function findCached(
  context: Context,
  kind: ResourceKind,
  name: string,
  signal?: AbortSignal,
): Promise<LiveObject | undefined> {
  const cache = context.informers.peek(kind);
  if (cache !== undefined) return cache.get(name);
  return findLive(context, { apiVersion: apiVersionOf(kind), kind: kind.kind, name }, signal);
}

/**
 * One object as the server has it now; undefined if there is none, as of a name that no object can have.
 *
 * @throws {ApiError} `KindNotServed` too: of a kind that the server does not list for a moment nothing is known
 */
export async function findLive(
  { client }: Context,
  reference: ObjectReference,
  signal?: AbortSignal,
): Promise<LiveObject | undefined> {
  // Whoever wrote it may have to mend it; what depends on the answer, an end before all, does not wait for that.
  if (namingProblem(reference) !== undefined) return undefined;
  try {
    return await client.get(reference, { signal });
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** `group/version` of a kind, as objects say it. */
export function apiVersionOf({ group, version }: ResourceKind): string {
  return group === "" ? version : `${group}/${version}`;
}

/** An object within an object; empty if there is none. */
export function objectAt(object: JsonValue | undefined, ...path: readonly string[]): JsonObject {
  let value: JsonValue | undefined = object;
  for (const step of path) value = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  return isObject(value) ? value : {};
}

/** A text in an object, however deep; undefined if there is none. */
export function textAt(object: JsonValue | undefined, ...path: readonly string[]): string | undefined {
  let value: JsonValue | undefined = object;
  for (const step of path) value = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A map of texts within an object, such as labels; what is no text is left out. */
export function textsAt(object: JsonValue | undefined, ...path: readonly string[]): Record<string, string> {
  const texts = Object.create(null) as Record<string, string>;
  for (const [key, value] of Object.entries(objectAt(object, ...path)))
    if (typeof value === "string") texts[key] = value;
  return texts;
}

function hasLabels({ metadata }: LiveObject, labels: Readonly<Record<string, string>>): boolean {
  const has = metadata.labels ?? {};
  return Object.keys(labels).every((key) => Object.hasOwn(has, key) && has[key] === labels[key]);
}
