import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/json";
import type { RenderInput, SecretReference } from "@xfn/pipeline";

type Required = NonNullable<RenderInput["required"]>;
type ResourceSelector = Parameters<Required["resources"]>[0];
type ResourceState = Awaited<ReturnType<Required["resources"]>>[number];

/** The objects of a render's files, as an API server would have them. */
export interface RequiredObjects {
  /** The objects that a selector selects, sorted by namespace and name. */
  select(selector: ResourceSelector): ResourceState[];
  /** The data of a Secret. Undefined if there is none of that name. */
  secret(reference: SecretReference): ReadonlyMap<string, Uint8Array> | undefined;
}

/** @param given the values of documents. The last object of a name wins. */
export function requiredObjects(given: readonly JsonValue[]): RequiredObjects {
  const objects = new Map(given.filter(isObject).map((object): [string, KubernetesObject] => [keyOf(object), object]));
  return {
    select: (selector) =>
      [...objects.values()]
        .filter((object) => isSelected(object, selector))
        .map((resource): [string, ResourceState] => [placeOf(resource), { resource }])
        .toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
        .map(([, state]) => state),
    secret({ namespace, name }) {
      const secret = objects.get(keyOf({ apiVersion: "v1", kind: "Secret", metadata: { name, namespace } }));
      if (secret === undefined) return undefined;
      const data = texts(secret["data"]).map(([key, value]) => [key, Buffer.from(value, "base64")] as const);
      const plain = texts(secret["stringData"]).map(([key, value]) => [key, Buffer.from(value)] as const);
      return new Map([...data, ...plain]);
    },
  };
}

function isSelected(object: KubernetesObject, { apiVersion, kind, namespace, match }: ResourceSelector): boolean {
  if (object.apiVersion !== apiVersion || object.kind !== kind) return false;
  const own = object.metadata?.namespace ?? "";
  // Without a namespace, a name selects a cluster-scoped object, and labels select in all namespaces.
  if ("name" in match) return object.metadata?.name === match.name && own === (namespace ?? "");
  if (namespace !== undefined && namespace !== "" && own !== namespace) return false;
  const labels: JsonObject = object.metadata?.labels ?? {};
  return [...match.labels].every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

function keyOf(object: KubernetesObject): string {
  return [object.apiVersion ?? "", object.kind ?? "", placeOf(object)].join("\n");
}

function placeOf({ metadata }: KubernetesObject): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}

function texts(map: JsonValue | undefined): [key: string, value: string][] {
  const entries = Object.entries(isObject(map) ? map : {});
  return entries.filter((entry): entry is [string, string] => typeof entry[1] === "string");
}
