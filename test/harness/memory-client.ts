import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/json";
import { ApiError, type Client, type LiveObject, type ObjectReference, type ResourceKind } from "@xfn/kubernetes";

/** A requested write. */
export interface MemoryWrite {
  readonly verb: "create" | "apply" | "patch" | "delete";
  /** `Kind/name`, or `Kind/namespace/name`. */
  readonly object: string;
  readonly subresource: string | undefined;
  readonly body: JsonObject | undefined;
}

/** Objects in memory behind the interface of an API server's client. */
export interface MemoryClient extends Client {
  readonly objects: Map<string, LiveObject>;
  readonly writes: MemoryWrite[];
  /** Called before each write, also one of a dry run. An error that it throws is the reply. */
  beforeWrite: (write: MemoryWrite) => void;
}

export interface MemoryOptions {
  /** The clock. */
  readonly time?: string;
  /** Namespaced kinds. */
  readonly namespaced?: readonly string[];
  /** Kinds that the server does not serve. */
  readonly unserved?: readonly string[];
}

/**
 * An API server in memory, for behaviour that a real server cannot be made to show. It implements server-side apply for
 * objects without a schema: lists are atomic, managers own fields, and release the fields that they no longer name. It
 * has no conflicts between managers, no defaults, no admission and no garbage collection.
 */
export function memoryClient(initial: readonly LiveObject[], options: MemoryOptions = {}): MemoryClient {
  const { time = "2023-09-01T00:00:00Z", namespaced = ["ConfigMap", "Secret"], unserved = [] } = options;
  const objects = new Map(initial.map((object) => [keyOf(object), structuredClone(object)]));
  const writes: MemoryWrite[] = [];

  const existing = (reference: ObjectReference): LiveObject => {
    const found = objects.get(keyOfReference(reference));
    if (found !== undefined) return found;
    throw new ApiError("NotFound", `${reference.kind} ${reference.name} not found`, { status: 404 });
  };
  const before = (write: MemoryWrite, dryRun = false): void => {
    if (!dryRun) writes.push(structuredClone(write));
    client.beforeWrite(write);
  };
  const store = (object: LiveObject, was: LiveObject | undefined): LiveObject => {
    const same = was !== undefined && sameExceptVersion(was, object);
    if (!same) {
      object.metadata.resourceVersion = String(Number(was?.metadata.resourceVersion ?? 0) + 1);
      objects.set(keyOf(object), object);
    }
    if (object.metadata["deletionTimestamp"] !== undefined && !hasFinalizers(object)) objects.delete(keyOf(object));
    return structuredClone(objects.get(keyOf(object)) ?? object);
  };

  const client: MemoryClient = {
    objects,
    writes,
    beforeWrite: () => undefined,
    get: async (reference) => structuredClone(existing(reference)),
    list: async (kind) => ({
      items: [...objects.values()].filter((object) => object.kind === kind.kind).map((one) => structuredClone(one)),
      resourceVersion: "1",
    }),
    async *watch() {},
    async create(object) {
      before({ verb: "create", object: titleOf(object), subresource: undefined, body: object });
      if (objects.has(keyOf(object))) throw new ApiError("AlreadyExists", "the object exists", { status: 409 });
      const { metadata, ...rest } = structuredClone(object);
      return store(merged(created(object, time), { ...rest, metadata: { ...metadata } }) as LiveObject, undefined);
    },
    update: () => Promise.reject(new TypeError("not needed so far")),
    async apply(object, { fieldManager = "", subresource, dryRun = false } = {}) {
      const key = keyOf(object);
      const was = objects.get(key);
      before({ verb: "apply", object: titleOf(object), subresource, body: object }, dryRun);
      requireSame(object, was);
      const base = structuredClone(was ?? created(object, time));
      const result = applied(base, structuredClone(object), fieldManager, subresource);
      return dryRun ? result : store(result, was);
    },
    async patch(reference, _, body, { subresource } = {}) {
      const was = existing(reference);
      before({ verb: "patch", object: titleOf(was), subresource, body: body as JsonObject });
      requireSame(body as KubernetesObject, was);
      const { metadata, ...rest } = structuredClone(body) as KubernetesObject;
      const { resourceVersion: _version, ...fields } = metadata ?? {};
      return store(merged(structuredClone(was), { ...rest, metadata: fields }) as LiveObject, was);
    },
    async delete(reference, { preconditions, dryRun } = {}) {
      const was = existing(reference);
      before({ verb: "delete", object: titleOf(was), subresource: undefined, body: undefined }, dryRun);
      requireSame({ metadata: { ...preconditions } }, was);
      if (dryRun === true) return structuredClone(was);
      if (!hasFinalizers(was)) {
        objects.delete(keyOf(was));
        return undefined;
      }
      const object = structuredClone(was);
      object.metadata["deletionTimestamp"] = time;
      return store(object, was);
    },
    async kind(apiVersion, kind): Promise<ResourceKind> {
      if (unserved.includes(kind)) throw new ApiError("KindNotServed", `the server does not serve ${kind}`);
      const slash = apiVersion.indexOf("/");
      return {
        group: slash === -1 ? "" : apiVersion.slice(0, slash),
        version: apiVersion.slice(slash + 1),
        kind,
        plural: `${kind.toLowerCase()}s`,
        namespaced: namespaced.includes(kind),
      };
    },
    forgetKinds: () => undefined,
    raw: (_, path) => Promise.reject(new ApiError("NotFound", `there is nothing at ${path}`, { status: 404 })),
  };
  return client;
}

function created({ apiVersion = "", kind = "", metadata }: KubernetesObject, time: string): LiveObject {
  const { name = "", namespace } = metadata ?? {};
  const place = namespace === undefined ? { name } : { name, namespace };
  return {
    apiVersion,
    kind,
    metadata: { ...place, uid: `uid-${name}`, resourceVersion: "0", creationTimestamp: time },
  };
}

function requireSame(wanted: KubernetesObject, was: LiveObject | undefined): void {
  for (const field of ["uid", "resourceVersion"]) {
    const value = wanted.metadata?.[field];
    if (value !== undefined && value !== was?.metadata[field]) {
      throw new ApiError("Conflict", "the object has been modified", { status: 409 });
    }
  }
}

// The fields of a manager: those that its last apply named, in this part of the object.
function applied(
  base: LiveObject,
  intent: KubernetesObject,
  manager: string,
  subresource: string | undefined,
): LiveObject {
  const { apiVersion = "", kind: _, metadata, status, ...rest } = intent;
  const { name: __, namespace: ___, uid: ____, resourceVersion: _____, ...fields } = metadata ?? {};
  const part: JsonObject =
    subresource === "status"
      ? { ...(status !== undefined && { status }) }
      : { ...rest, ...(Object.keys(fields).length > 0 && { metadata: fields }) };
  const entries = (base.metadata["managedFields"] ?? []) as JsonObject[];
  const mine = (one: JsonObject): boolean => one["manager"] === manager && one["subresource"] === subresource;
  const before = entries.find(mine);
  const others = entries.filter((one) => !mine(one));
  if (before !== undefined) {
    remove(
      base,
      before["fieldsV1"] as JsonObject,
      fieldsOf(part),
      others.map((one) => one["fieldsV1"] as JsonObject),
    );
  }
  const object = merged(base, part) as LiveObject;
  object.metadata["managedFields"] = [
    ...others,
    {
      manager,
      operation: "Apply",
      apiVersion,
      fieldsType: "FieldsV1",
      fieldsV1: fieldsOf(part),
      ...(subresource !== undefined && { subresource }),
    },
  ];
  return object;
}

function fieldsOf(part: JsonObject): JsonObject {
  const fields: JsonObject = {};
  for (const [key, value] of Object.entries(part)) fields[`f:${key}`] = isObject(value) ? fieldsOf(value) : {};
  return fields;
}

function remove(object: JsonObject, had: JsonObject, has: JsonObject, others: readonly JsonObject[]): void {
  for (const [name, fields] of Object.entries(had)) {
    const key = name.slice(2);
    const rest = others.flatMap((one) => (isObject(one[name]) ? [one[name]] : []));
    const value = object[key];
    const kept = has[name];
    if (kept === undefined && rest.length === 0) delete object[key];
    else if (isObject(value) && isObject(fields)) remove(value, fields, isObject(kept) ? kept : {}, rest);
  }
}

function merged(base: JsonObject, overlay: JsonObject): JsonObject {
  const result = { ...base };
  for (const [key, value] of Object.entries(overlay)) {
    const there = result[key];
    if (value === null) delete result[key];
    else result[key] = isObject(value) ? merged(isObject(there) ? there : {}, value) : value;
  }
  return result;
}

function sameExceptVersion(a: LiveObject, b: LiveObject): boolean {
  const plain = (object: LiveObject): JsonValue => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion: "" },
  });
  return JSON.stringify(sorted(plain(a))) === JSON.stringify(sorted(plain(b)));
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return typeof value === "bigint" ? String(value) : value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, sorted(value[key] ?? null)]),
  );
}

function hasFinalizers({ metadata: { finalizers } }: LiveObject): boolean {
  return Array.isArray(finalizers) && finalizers.length > 0;
}

function titleOf({ kind = "", metadata }: KubernetesObject): string {
  const namespace = metadata?.namespace;
  return [kind, ...(namespace === undefined ? [] : [namespace]), metadata?.name ?? ""].join("/");
}

function keyOf({ apiVersion = "", kind = "", metadata }: KubernetesObject): string {
  return keyOfReference({ apiVersion, kind, name: metadata?.name ?? "", namespace: metadata?.namespace });
}

function keyOfReference({ apiVersion, kind, name, namespace = "" }: ObjectReference): string {
  return [apiVersion.includes("/") ? apiVersion.split("/")[0] : "", kind, namespace, name].join("/");
}
