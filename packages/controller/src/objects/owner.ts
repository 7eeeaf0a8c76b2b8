import { isObject, type JsonValue } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";

/** The controller of an object, as its owner references name it (Kubernetes, "Owners and dependents"). */
export interface ControllerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** The one owner reference with `controller: true`; undefined for none, or one that is not complete. */
export function controllerOf(object: LiveObject): ControllerReference | undefined {
  const references: JsonValue | undefined = object.metadata["ownerReferences"];
  if (!Array.isArray(references)) return undefined;
  for (const reference of references) {
    if (!isObject(reference) || reference["controller"] !== true) continue;
    const { apiVersion, kind, name, uid } = reference;
    if (
      typeof apiVersion === "string" &&
      typeof kind === "string" &&
      typeof name === "string" &&
      typeof uid === "string"
    )
      return { apiVersion, kind, name, uid };
  }
  return undefined;
}

/** `group/Kind`: a kind whatever its version. The core group is empty. */
export function groupKind(apiVersion: string, kind: string): string {
  const slash = apiVersion.indexOf("/");
  return `${slash === -1 ? "" : apiVersion.slice(0, slash)}/${kind}`;
}

/** The key of an object in the queue of its kind: `name`, or `namespace/name`. */
export function keyOf(name: string, namespace: string | undefined): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}
