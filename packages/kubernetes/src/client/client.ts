import type { JsonObject, JsonValue, KubernetesObject } from "@xfn/json";

/** A kind as an API server serves it: the parts of its URLs. */
export interface ResourceKind {
  /** "" is the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural name in URLs. */
  readonly plural: string;
  readonly namespaced: boolean;
}

/** An object of an API server, which always has a kind, a name, a UID and a resource version. */
export interface LiveObject extends KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: NonNullable<KubernetesObject["metadata"]> & { name: string; uid: string; resourceVersion: string };
}

export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string | undefined;
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * The user whose rights the request has instead of the client's (Kubernetes, "User impersonation"). The client needs
   * the right `impersonate`. The server adds the groups of a service account, `system:serviceaccount:NAMESPACE:NAME`.
   */
  readonly as?: string | undefined;
}

export interface GetOptions extends RequestOptions {
  /** Reads a subresource instead, such as `scale`. */
  readonly subresource?: string | undefined;
}

export interface WriteOptions extends RequestOptions {
  /** The manager of the written fields. Default: the client's. */
  readonly fieldManager?: string | undefined;
  /** Stores nothing, and returns the object that the write would have stored. */
  readonly dryRun?: boolean | undefined;
  /**
   * How the server treats unknown and duplicate fields (Kubernetes API concepts, "Field validation"): `Strict` rejects
   * the write, `Ignore` drops them. An apply with an unknown field always fails. Default `Ignore`: the server's own
   * default adds a warning, for which it parses each body a second time.
   */
  readonly fieldValidation?: "Ignore" | "Strict" | undefined;
  /**
   * Writes a subresource, such as `status`. With `patch` also one of another kind, such as `scale`. Use `raw` to create
   * one, such as `eviction`.
   */
  readonly subresource?: string | undefined;
}

export interface DeleteOptions extends RequestOptions {
  /** The request fails with `Conflict` if the object has another UID or resource version. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | undefined;
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan" | undefined;
  /** Deletes nothing, and fails as the deletion would. */
  readonly dryRun?: boolean | undefined;
}

export interface ListOptions extends RequestOptions {
  /** Default: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Ends the list with the page that reaches this number of objects. Default: all. */
  readonly maxItems?: number | undefined;
  /** Ends the list with the page with which the responses exceed this number of bytes. Default: all. */
  readonly maxBytes?: number | undefined;
  /** The most objects in one response. Default 500; less if they are large. */
  readonly pageSize?: number | undefined;
  /**
   * Called when the list begins, and when it begins again because its continue token expired. Returns what is called
   * for each object as its page arrives: the list has the results, so that large objects need not be kept.
   */
  readonly transform?: (() => ((object: LiveObject) => LiveObject) | undefined) | undefined;
  /** Returns only `apiVersion`, `kind` and `metadata` of each object. Default: whole objects. */
  readonly metadataOnly?: boolean | undefined;
}

/** All pages of a list. */
export interface ObjectList {
  readonly items: readonly LiveObject[];
  /** The version from which a watch continues. */
  readonly resourceVersion: string;
  /** The size of the responses. */
  readonly bytes?: number | undefined;
}

/**
 * One line of a watch (Kubernetes API concepts, "Efficient detection of changes"). A `BOOKMARK` has only a resource
 * version.
 */
export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: LiveObject;
}

export interface WatchOptions extends Omit<ListOptions, "pageSize" | "maxItems" | "maxBytes" | "transform"> {
  readonly resourceVersion: string;
  /** The server ends the watch after this time. Default: 5 to 10 minutes, at random. */
  readonly timeoutSeconds?: number | undefined;
}

/**
 * A client for any JSON object. It keeps all fields of an object, and 64-bit integers stay exact (see `JsonValue`).
 * Every method throws `ApiError`.
 */
export interface Client {
  get(reference: ObjectReference, options?: GetOptions): Promise<LiveObject>;
  list(kind: ResourceKind, options?: ListOptions): Promise<ObjectList>;
  /** Ends when the server or the signal ends it. Throws `Expired` if the version is too old (410). */
  watch(kind: ResourceKind, options: WatchOptions): AsyncIterable<WatchEvent>;
  create(object: KubernetesObject, options?: WriteOptions): Promise<LiveObject>;
  /** PUT: the object must carry the resource version that it replaces. */
  update(object: KubernetesObject, options?: WriteOptions): Promise<LiveObject>;
  /** Server-side apply. `force` takes fields over from other managers; default true, as for controllers. */
  apply(object: KubernetesObject, options?: WriteOptions & { readonly force?: boolean }): Promise<LiveObject>;
  /** `merge` is RFC 7386, `json` is RFC 6902. `strategic` is Kubernetes' own, which only built-in kinds support. */
  patch(
    reference: ObjectReference,
    type: "merge" | "json" | "strategic",
    body: JsonValue,
    options?: WriteOptions,
  ): Promise<LiveObject>;
  /** Returns the object if the server still has it, because of finalizers. */
  delete(reference: ObjectReference, options?: DeleteOptions): Promise<LiveObject | undefined>;
  /** Returns how the server serves a kind. Cached; the client asks for an unknown kind at most twice a second. */
  kind(apiVersion: string, kind: string, options?: RequestOptions): Promise<ResourceKind>;
  /**
   * Clears the cache of kinds, after a CRD was created, changed or deleted.
   *
   * @param apiVersion forgets only the kinds of this version. Default: all kinds
   */
  forgetKinds(apiVersion?: string): void;
  /** Any other path of the server, such as `/readyz` or `/version`. */
  raw(method: string, path: string, options?: RequestOptions & { body?: JsonObject }): Promise<JsonValue>;
}

/** A client that owns its connections. */
export interface ConnectedClient extends Client {
  /** Ends all requests and watches, and closes the connections. */
  close(): Promise<void>;
}
