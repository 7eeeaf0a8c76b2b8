import type { JsonObject, JsonValue, KubernetesObject } from "@xfn/functionio";

/** A kind as an API server serves it: what its URLs are made of. */
export interface ResourceKind {
  /** "" is the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural name, as in URLs. */
  readonly plural: string;
  readonly namespaced: boolean;
}

/** An object that an API server holds: it has a kind, a name, a UID and a resource version. */
export interface LiveObject extends KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: NonNullable<KubernetesObject["metadata"]> & { name: string; uid: string; resourceVersion: string };
}

/** Names one object. */
export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string | undefined;
}

/** What every request may say. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface WriteOptions extends RequestOptions {
  /** Whose fields these become. Default: the client's. */
  readonly fieldManager?: string | undefined;
  /** Nothing is stored; the answer is what would have been. */
  readonly dryRun?: boolean | undefined;
  /**
   * What becomes of fields that the kind's schema does not have, or that are there twice (Kubernetes API concepts, "Field
   * validation"): `Strict` refuses the write, `Ignore` drops them. An apply with a field that the schema does not have fails in
   * any case. Default `Ignore`: the server's own default only adds a warning, for which it reads each body a second time.
   */
  readonly fieldValidation?: "Ignore" | "Strict" | undefined;
  readonly subresource?: "status" | undefined;
}

export interface DeleteOptions extends RequestOptions {
  /** The request fails with `Conflict` if the object has another UID or resource version. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | undefined;
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan" | undefined;
}

export interface ListOptions extends RequestOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Objects in one answer of the server. Default 500. */
  readonly pageSize?: number | undefined;
}

/** All pages of a list. */
export interface ObjectList {
  readonly items: readonly LiveObject[];
  /** What a watch goes on from. */
  readonly resourceVersion: string;
}

/** One line of a watch (Kubernetes API, "Efficient detection of changes"). A `BOOKMARK` has a resource version and nothing else. */
export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: LiveObject;
}

export interface WatchOptions extends Omit<ListOptions, "pageSize"> {
  readonly resourceVersion: string;
}

/**
 * A client for any JSON object. Nothing of an object is dropped on the way, and integers of 64 bits stay exact (see
 * `JsonValue`). Every method throws `ApiError`.
 */
export interface Client {
  get(reference: ObjectReference, options?: RequestOptions): Promise<LiveObject>;
  list(kind: ResourceKind, options?: ListOptions): Promise<ObjectList>;
  /** Ends when the server ends it, throws `Expired` for 410. The signal ends it too. */
  watch(kind: ResourceKind, options: WatchOptions): AsyncIterable<WatchEvent>;
  create(object: KubernetesObject, options?: WriteOptions): Promise<LiveObject>;
  /** PUT: the object must carry the resource version that it replaces. */
  update(object: KubernetesObject, options?: WriteOptions): Promise<LiveObject>;
  /** Server-side apply. `force` takes fields over from other managers; default true, as controllers do. */
  apply(object: KubernetesObject, options?: WriteOptions & { readonly force?: boolean }): Promise<LiveObject>;
  /** `merge` is RFC 7386, `json` is RFC 6902. */
  patch(
    reference: ObjectReference,
    type: "merge" | "json",
    body: JsonValue,
    options?: WriteOptions,
  ): Promise<LiveObject>;
  /** The object as it is afterwards, where the server still has it. */
  delete(reference: ObjectReference, options?: DeleteOptions): Promise<LiveObject | undefined>;
  /** How a kind is served. Looked up once and kept; a kind that is not known is looked up again, at most twice a second. */
  kind(apiVersion: string, kind: string, options?: RequestOptions): Promise<ResourceKind>;
  /** Forgets how kinds are served: a CRD came, changed or went. */
  forgetKinds(): void;
  /** Any other path of the server, such as `/readyz` or `/version`. */
  raw(method: string, path: string, options?: RequestOptions & { body?: JsonObject }): Promise<JsonValue>;
}

/** A client with connections of its own. */
export interface ConnectedClient extends Client {
  /** Ends all requests and watches, and closes the connections. */
  close(): Promise<void>;
}
