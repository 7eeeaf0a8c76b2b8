import { isObject, type JsonObject, type JsonValue } from "@xfn/json";

/** The value at a path of an object. */
export function at(value: JsonValue | undefined, ...path: readonly (string | number)[]): JsonValue | undefined {
  let found = value;
  for (const step of path) {
    if (Array.isArray(found)) found = typeof step === "number" ? found[step] : undefined;
    else found = isObject(found) && Object.hasOwn(found, step) ? found[String(step)] : undefined;
  }
  return found;
}

export function textAt(value: JsonValue | undefined, ...path: readonly (string | number)[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === "string" ? found : undefined;
}

export function objectsAt(value: JsonValue | undefined, ...path: readonly (string | number)[]): readonly JsonObject[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.filter(isObject) : [];
}

/** The path of an XR's references to composed resources: Crossplane 1 and 2 have different ones. */
export function referencesPath(composite: JsonValue): readonly string[] {
  const path = ["spec", "crossplane", "resourceRefs"];
  return at(composite, ...path) === undefined ? ["spec", "resourceRefs"] : path;
}

/** The owner reference with `controller: true`. */
export function controllerOf(object: JsonObject): JsonObject | undefined {
  return objectsAt(object, "metadata", "ownerReferences").find((owner) => owner["controller"] === true);
}

/** The name of a composed resource's entry. */
export function entryOf(object: JsonObject): string | undefined {
  return textAt(object, "metadata", "annotations", "crossplane.io/composition-resource-name");
}
