import { isObject, type JsonObject, type KubernetesObject } from "@xfn/functionio";
import { type LiveObject, namingProblem, type ObjectReference } from "@xfn/kubernetes";
import { groupKind } from "./owner.ts";

/**
 * The composed resources that an XR has recorded (`spec.resourceRefs`). One without a name refers to nothing: the reference
 * implementation leaves such behind. Neither does one with a name that no object can have.
 */
export function recordedReferences(xr: LiveObject): ObjectReference[] {
  const { spec } = xr;
  const list = isObject(spec) ? spec["resourceRefs"] : undefined;
  return (Array.isArray(list) ? list : []).flatMap((one) => {
    if (!isObject(one)) return [];
    const { apiVersion, kind, name, namespace } = one;
    if (!isText(apiVersion) || !isText(kind) || !isText(name)) return [];
    const reference = { apiVersion, kind, name, ...(isText(namespace) && { namespace }) };
    return namingProblem(reference) === undefined ? [reference] : [];
  });
}

/** What refers to an object. */
export function referenceTo(object: KubernetesObject): ObjectReference {
  const { apiVersion = "", kind = "", metadata } = object;
  const namespace = metadata?.namespace;
  return { apiVersion, kind, name: metadata?.name ?? "", ...(isText(namespace) && { namespace }) };
}

/** The same for two references to one object, in whatever version they name it. */
export function objectKey({ apiVersion, kind, namespace = "", name }: ObjectReference): string {
  return `${groupKind(apiVersion, kind)}/${namespace}/${name}`;
}

/** References as they are recorded: each object once, the last version named of it, in an order that does not change. */
export function recordOf(references: Iterable<ObjectReference>): JsonObject[] {
  const byKey = new Map<string, ObjectReference>();
  for (const reference of references) byKey.set(objectKey(reference), reference);
  return [...byKey.values()]
    .toSorted((a, b) => compare(textOf(a), textOf(b)))
    .map(({ apiVersion, kind, name, namespace }): JsonObject => {
      return { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
    });
}

/** An object in words. */
export function describeReference({ kind, namespace, name }: ObjectReference): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
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
