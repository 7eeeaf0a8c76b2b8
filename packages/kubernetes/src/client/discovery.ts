import { isObject, type JsonValue } from "@xfn/functionio";
import { ApiError, isApiError } from "./api-error.ts";
import type { ResourceKind } from "./client.ts";
import { versionPath } from "./resource-path.ts";

// A CRD that was just applied is served within a second or two; who waits for it asks all the time.
const UNKNOWN_AGAIN_MS = 500;
// A kind may change its plural or scope only by being deleted first; who is not told of that learns it after this time.
const FRESH_MS = 10 * 60_000;
// Versions that something asked for: clusters with many CRDs have some hundreds. The oldest goes.
const MAX_VERSIONS = 2_000;

/** Knows how kinds are served. */
export interface Discovery {
  /** A promise only where the server must be asked. @throws {ApiError} KindNotServed, or why the server could not be asked */
  kind(apiVersion: string, kind: string): ResourceKind | Promise<ResourceKind>;
  /** Forgets all, or one version. */
  forget(apiVersion?: string): void;
}

interface Version {
  /** Absent: the server does not serve the version. */
  readonly kinds: ReadonlyMap<string, ResourceKind>;
  readonly at: number;
}

/** @param get fetches a path of the server */
export function startDiscovery(
  get: (path: string) => Promise<JsonValue>,
  now: () => number = () => performance.now(),
): Discovery {
  const versions = new Map<string, Version>();
  const asking = new Map<string, Promise<Version>>();

  const ask = async (apiVersion: string): Promise<Version> => {
    let kinds: ReadonlyMap<string, ResourceKind>;
    try {
      kinds = kindsOf(apiVersion, await get(versionPath(apiVersion)));
    } catch (error) {
      if (!isApiError(error, "KindNotServed", "NotFound")) throw error;
      kinds = new Map();
    }
    const version = { kinds, at: now() };
    versions.delete(apiVersion);
    versions.set(apiVersion, version);
    const oldest = versions.keys().next().value;
    if (versions.size > MAX_VERSIONS && oldest !== undefined) versions.delete(oldest);
    return version;
  };
  const askOnce = (apiVersion: string): Promise<Version> => {
    let answer = asking.get(apiVersion);
    if (answer === undefined) {
      answer = ask(apiVersion).finally(() => asking.delete(apiVersion));
      asking.set(apiVersion, answer);
    }
    return answer;
  };
  const lookUp = async (apiVersion: string, kind: string, known: ResourceKind | undefined): Promise<ResourceKind> => {
    let version: Version;
    try {
      version = await askOnce(apiVersion);
    } catch (error) {
      // What was so ten minutes ago most likely still is.
      if (known !== undefined && isApiError(error) && error.retryable) return known;
      throw error;
    }
    return version.kinds.get(kind) ?? notServed(apiVersion, kind);
  };
  return {
    kind(apiVersion, kind) {
      const version = versions.get(apiVersion);
      const found = version?.kinds.get(kind);
      const age = version === undefined ? Number.POSITIVE_INFINITY : now() - version.at;
      if (age < (found === undefined ? UNKNOWN_AGAIN_MS : FRESH_MS)) return found ?? notServed(apiVersion, kind);
      return lookUp(apiVersion, kind, found);
    },
    forget(apiVersion) {
      if (apiVersion === undefined) versions.clear();
      else versions.delete(apiVersion);
    },
  };
}

function notServed(apiVersion: string, kind: string): never {
  throw new ApiError(
    "KindNotServed",
    `the API server does not serve kind ${kind} of ${apiVersion}: is its CRD installed?`,
  );
}

/** Reads an `APIResourceList`. */
function kindsOf(apiVersion: string, list: JsonValue): Map<string, ResourceKind> {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const kinds = new Map<string, ResourceKind>();
  const resources = isObject(list) && Array.isArray(list["resources"]) ? list["resources"] : [];
  for (const resource of resources) {
    if (!isObject(resource)) continue;
    const { name, kind, namespaced } = resource;
    // Names with / are subresources, whose kinds are others' (`pods/eviction`).
    if (typeof name !== "string" || typeof kind !== "string" || name.includes("/") || kinds.has(kind)) continue;
    kinds.set(kind, {
      group: group ?? "",
      version: version ?? "",
      kind,
      plural: name,
      namespaced: namespaced === true,
    });
  }
  return kinds;
}
