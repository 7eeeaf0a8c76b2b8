import { isObject, type JsonObject, type JsonValue, textOrEmpty, valueAt } from "@xfn/json";
import { ApiError, type Client, type LiveObject, type ObjectReference } from "@xfn/kubernetes";
import type { Limit } from "./limit.ts";
import type { TreeEvent, TreeNode } from "./tree.ts";
import { isInUse, usagesOf } from "./usages.ts";

export interface ReadTreeOptions {
  readonly limit: Limit;
  readonly signal: AbortSignal;
  /** Whether connection secrets are children. Their data is never read into the tree. */
  readonly secrets: boolean;
  readonly events: boolean;
}

/** Cycles cannot be made by a controller, but by hand. */
const MAX_DEPTH = 32;

/**
 * Reads an object and, through the references of claims and composite resources, all objects below it, with the usages
 * that protect them. An object that is missing or forbidden is a node with an error.
 *
 * @throws ApiError if the first object cannot be read
 */
export async function readTree(client: Client, root: ObjectReference, options: ReadTreeOptions): Promise<TreeNode> {
  const object = await options.limit(() => client.get(root, { signal: options.signal }));
  return nodeOf(client, object, options, [object.metadata.uid]);
}

async function nodeOf(
  client: Client,
  object: LiveObject,
  options: ReadTreeOptions,
  above: readonly string[],
): Promise<TreeNode> {
  const [events, usages, children] = await Promise.all([
    options.events ? eventsOf(client, object, options) : undefined,
    isInUse(object) ? usageNodes(client, object, options) : [],
    Promise.all(
      referencesOf(object, options.secrets).map((reference) => childOf(client, object, reference, options, above)),
    ),
  ]);
  return { object: shown(object), children: [...children, ...usages], ...(events && { events }) };
}

/** The usages that protect an object from deletion. */
async function usageNodes(client: Client, object: LiveObject, { limit, signal }: ReadTreeOptions): Promise<TreeNode[]> {
  try {
    const usages = await limit(() => usagesOf(client, object, signal));
    return usages.map((usage) => ({ object: shown(usage), children: [] }));
  } catch (error) {
    if (!(error instanceof ApiError) || signal.aborted) throw error;
    return [{ object: { kind: "Usage", metadata: { name: "?" } }, error: error.message, children: [] }];
  }
}

async function childOf(
  client: Client,
  parent: LiveObject,
  reference: ObjectReference,
  options: ReadTreeOptions,
  above: readonly string[],
): Promise<TreeNode> {
  const { apiVersion, kind, name } = reference;
  let { namespace } = reference;
  const { limit, signal } = options;
  let object: LiveObject;
  try {
    const { namespaced } = await limit(() => client.kind(apiVersion, kind, { signal }));
    namespace = namespaced ? (namespace ?? parent.metadata.namespace ?? undefined) : undefined;
    object = await limit(() => client.get({ apiVersion, kind, name, namespace }, { signal }));
  } catch (error) {
    if (!(error instanceof ApiError) || signal.aborted) throw error;
    const metadata = { name, ...(namespace !== undefined && { namespace }) };
    return { object: { apiVersion, kind, metadata }, error: errorText(error), children: [] };
  }
  const { uid } = object.metadata;
  if (above.includes(uid) || above.length >= MAX_DEPTH) {
    return { object: shown(object), error: "refers to itself through its children", children: [] };
  }
  return nodeOf(client, object, options, [...above, uid]);
}

function errorText(error: ApiError): string {
  if (error.code === "NotFound") return "not found";
  return error.message;
}

/** The references of a claim or composite resource: to its XR, to what it composes, to its connection secret. */
function referencesOf(object: LiveObject, secrets: boolean): ObjectReference[] {
  const { spec = {} } = object as { spec?: JsonValue };
  const lists = [valueAt(spec, "crossplane", "resourceRefs"), valueAt(spec, "resourceRefs")];
  const listed = lists.flatMap((list) => (Array.isArray(list) ? list : []));
  const claimed = valueAt(spec, "resourceRef");
  const references = [...(claimed === undefined ? [] : [claimed]), ...listed].flatMap((one) => {
    const namespace = textOrEmpty(one, "namespace");
    const reference = {
      apiVersion: textOrEmpty(one, "apiVersion"),
      kind: textOrEmpty(one, "kind"),
      name: textOrEmpty(one, "name"),
    };
    // A composite resource records a reference before it has a name.
    if (reference.apiVersion === "" || reference.kind === "" || reference.name === "") return [];
    return [{ ...reference, namespace: namespace === "" ? undefined : namespace }];
  });
  if (!secrets) return references;
  const secret = valueAt(spec, "writeConnectionSecretToRef");
  const name = textOrEmpty(secret, "name");
  if (name === "") return references;
  const namespace = textOrEmpty(secret, "namespace") || (object.metadata.namespace ?? undefined);
  return [...references, { apiVersion: "v1", kind: "Secret", name, namespace }];
}

/** Drops managed fields and the values of Secrets. */
function shown(object: LiveObject): JsonObject {
  const metadata = { ...(object.metadata as unknown as JsonObject) };
  delete metadata["managedFields"];
  const result: JsonObject = { ...(object as unknown as JsonObject), metadata };
  if (object.kind !== "Secret") return result;
  for (const field of ["data", "stringData"]) {
    const data = result[field];
    if (isObject(data)) result[field] = Object.fromEntries(Object.keys(data).map((key) => [key, "(hidden)"]));
  }
  return result;
}

/** At most the newest ten. None if events cannot be read: the tree is what was asked for. */
async function eventsOf(client: Client, object: LiveObject, options: ReadTreeOptions): Promise<readonly TreeEvent[]> {
  const { limit, signal } = options;
  const kind = { group: "", version: "v1", kind: "Event", plural: "events", namespaced: true };
  const namespace = object.metadata.namespace ?? "default";
  const fieldSelector = `involvedObject.uid=${object.metadata.uid}`;
  try {
    const { items } = await limit(() => client.list(kind, { namespace, fieldSelector, maxItems: 100, signal }));
    const events = items.map((event) => eventOf(event as unknown as JsonObject));
    return events.toSorted((a, b) => a.lastSeen.localeCompare(b.lastSeen)).slice(-10);
  } catch (error) {
    if (!(error instanceof ApiError) || signal.aborted) throw error;
    return [{ type: "Warning", reason: "CannotRead", message: error.message, count: 1, lastSeen: "" }];
  }
}

function eventOf(event: JsonObject): TreeEvent {
  const count = valueAt(event, "series", "count") ?? event["count"];
  return {
    type: textOrEmpty(event, "type"),
    reason: textOrEmpty(event, "reason"),
    message: textOrEmpty(event, "message"),
    count: typeof count === "number" ? count : 1,
    lastSeen:
      textOrEmpty(event, "series", "lastObservedTime") ||
      textOrEmpty(event, "lastTimestamp") ||
      textOrEmpty(event, "eventTime"),
  };
}
