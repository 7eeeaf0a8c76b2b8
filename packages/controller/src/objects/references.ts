import { type Layout, machineryOf } from "@xfn/composition";
import { type JsonObject, type KubernetesObject, objectsAt } from "@xfn/json";
import { type LiveObject, namingProblem, type ObjectReference } from "@xfn/kubernetes";
import { groupKind } from "./kinds.ts";

/**
 * The composed resources that an XR has recorded (`resourceRefs`). Skips entries without a name, which Crossplane
 * leaves behind, and entries with an invalid name: neither refers to an object.
 *
 * References of a namespaced XR always use its namespace and ignore their own, because users of the namespace can write
 * them.
 */
export function recordedReferences(xr: LiveObject, layout: Layout): ObjectReference[] {
  return objectsAt(machineryOf(xr, layout), "resourceRefs").flatMap((one) => {
    const { apiVersion, kind, name } = one;
    const namespace = xr.metadata.namespace ?? one["namespace"];
    if (!isText(apiVersion) || !isText(kind) || !isText(name)) return [];
    const reference = { apiVersion, kind, name, ...(isText(namespace) && { namespace }) };
    return namingProblem(reference) === undefined ? [reference] : [];
  });
}

export function referenceTo(object: KubernetesObject): ObjectReference {
  const { apiVersion = "", kind = "", metadata } = object;
  const namespace = metadata?.namespace;
  return { apiVersion, kind, name: metadata?.name ?? "", ...(isText(namespace) && { namespace }) };
}

/** Identifies an object in any version of its kind. */
export function objectKey({ apiVersion, kind, namespace = "", name }: ObjectReference): string {
  return `${groupKind(apiVersion, kind)}/${namespace}/${name}`;
}

/**
 * The references as an XR records them: one per object, in its last version, in a stable order. References of a
 * namespaced XR have no namespace, because its schema lacks the field.
 */
export function recordOf({ metadata }: LiveObject, references: Iterable<ObjectReference>): JsonObject[] {
  const byKey = new Map<string, ObjectReference>();
  for (const reference of references) byKey.set(objectKey(reference), reference);
  return [...byKey.values()]
    .toSorted((a, b) => compare(textOf(a), textOf(b)))
    .map(({ apiVersion, kind, name, namespace }): JsonObject => {
      return {
        apiVersion,
        kind,
        name,
        ...(namespace !== undefined && metadata.namespace === undefined && { namespace }),
      };
    });
}

/** The format of an object in messages: `Kind namespace/name`. */
export function describeReference({ kind, namespace, name }: ObjectReference): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}

/** The key of an object in the queue of its kind: `name`, or `namespace/name`. */
export function queueKey(name: string, namespace: string | undefined): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

/** The name and the namespace of a {@link queueKey}. */
export function parseQueueKey(key: string): { readonly name: string; readonly namespace: string | undefined } {
  const slash = key.indexOf("/");
  if (slash === -1) return { name: key, namespace: undefined };
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

function textOf({ apiVersion, kind, name, namespace = "" }: ObjectReference): string {
  return [apiVersion, kind, namespace, name].join("\0");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
