import { isObject, type JsonValue } from "@xfn/json";
import { ApiError, isApiError } from "./api-error.ts";
import type { ResourceKind } from "./client.ts";
import { versionPath } from "./resource-path.ts";

// The server serves a new CRD within a second or two, and callers that wait for it ask all the time.
const UNKNOWN_AGAIN_MS = 500;
// A kind changes its plural or scope only by deletion. Clients that miss that learn it after this time.
const FRESH_MS = 10 * 60_000;
// Clusters with many CRDs have some hundred versions. The least recently fetched version is evicted.
const MAX_VERSIONS = 2_000;

interface Version {
  /** Empty if the server does not serve the version. */
  readonly kinds: ReadonlyMap<string, ResourceKind>;
  readonly fetchedAt: number;
}

/** Caches how the server serves kinds. */
export class Discovery {
  readonly #get: (path: string) => Promise<JsonValue>;
  readonly #now: () => number;
  readonly #versions = new Map<string, Version>();
  readonly #fetching = new Map<string, Promise<Version>>();

  /** @param get fetches a path of the server */
  constructor(get: (path: string) => Promise<JsonValue>, now: () => number = () => performance.now()) {
    this.#get = get;
    this.#now = now;
  }

  /**
   * Returns a promise only where the server must be asked.
   *
   * @throws {ApiError} KindNotServed, or the failure of the request
   */
  kind(apiVersion: string, kind: string): ResourceKind | Promise<ResourceKind> {
    const version = this.#versions.get(apiVersion);
    const known = version?.kinds.get(kind);
    const age = version === undefined ? Number.POSITIVE_INFINITY : this.#now() - version.fetchedAt;
    if (age < (known === undefined ? UNKNOWN_AGAIN_MS : FRESH_MS)) return known ?? notServed(apiVersion, kind);
    return this.#lookUp(apiVersion, kind, known);
  }

  /** Forgets one version, or all. */
  forget(apiVersion?: string): void {
    if (apiVersion === undefined) this.#versions.clear();
    else this.#versions.delete(apiVersion);
  }

  async #lookUp(apiVersion: string, kind: string, known: ResourceKind | undefined): Promise<ResourceKind> {
    let version: Version;
    try {
      version = await this.#fetchOnce(apiVersion);
    } catch (error) {
      // A stale entry is most likely still true.
      if (known !== undefined && isApiError(error) && error.retryable) return known;
      throw error;
    }
    return version.kinds.get(kind) ?? notServed(apiVersion, kind);
  }

  #fetchOnce(apiVersion: string): Promise<Version> {
    let version = this.#fetching.get(apiVersion);
    if (version === undefined) {
      version = this.#fetch(apiVersion).finally(() => this.#fetching.delete(apiVersion));
      this.#fetching.set(apiVersion, version);
    }
    return version;
  }

  async #fetch(apiVersion: string): Promise<Version> {
    let kinds: ReadonlyMap<string, ResourceKind>;
    try {
      kinds = kindsOf(apiVersion, await this.#get(versionPath(apiVersion)));
    } catch (error) {
      if (!isApiError(error, "KindNotServed", "NotFound")) throw error;
      kinds = new Map();
    }
    const version = { kinds, fetchedAt: this.#now() };
    // Moves the version to the end of the map, which is ordered by time.
    this.#versions.delete(apiVersion);
    this.#versions.set(apiVersion, version);
    const oldest = this.#versions.keys().next().value;
    if (this.#versions.size > MAX_VERSIONS && oldest !== undefined) this.#versions.delete(oldest);
    return version;
  }
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
    // A name with a slash is a subresource, with a kind of another resource (`pods/eviction`).
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
