import type { KubernetesObject } from "@xfn/json";
import { ApiError, type Client, type ResourceKind } from "@xfn/kubernetes";

/** How the API server serves the kinds of some objects. */
export interface Kinds {
  /** The kind of an object, or the error of its lookup. */
  of(object: KubernetesObject): ResourceKind | ApiError;
}

/**
 * Asks how the API server serves the kinds of objects. Discovery is the same for all users.
 *
 * @throws {unknown} an error that is not an answer of the server, such as an abort
 */
export async function discoverKinds(
  client: Pick<Client, "kind">,
  objects: readonly KubernetesObject[],
  signal: AbortSignal,
): Promise<Kinds> {
  const kinds = new Map<string, ResourceKind | ApiError>();
  for (const { apiVersion = "", kind = "" } of objects) {
    const key = keyOf(apiVersion, kind);
    if (!kinds.has(key)) kinds.set(key, await client.kind(apiVersion, kind, { signal }).catch(answerOf));
  }
  return {
    of: ({ apiVersion = "", kind = "" }) => {
      const found = kinds.get(keyOf(apiVersion, kind));
      if (found === undefined) throw new TypeError(`the kind ${kind} of ${apiVersion} was not asked for`);
      return found;
    },
  };
}

function answerOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  throw error;
}

function keyOf(apiVersion: string, kind: string): string {
  return `${apiVersion}/${kind}`;
}
