import { isObject, type JsonValue, type KubernetesObject } from "@xfn/json";
import { ApiError } from "./api-error.ts";
import type { LiveObject, ObjectReference, ResourceKind } from "./client.ts";

/** `group/version` of a kind; `version` alone for the core group. */
export function apiVersionOf({ group, version }: Pick<ResourceKind, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}

/** The plural with its group, as metrics and kubectl name it: `deployments.apps`. */
export function resourceOf({ group, plural }: Pick<ResourceKind, "group" | "plural">): string {
  return group === "" ? plural : `${plural}.${group}`;
}

/** The kind with its group: `Deployment.apps`. */
export function qualifiedKind({ group, kind }: Pick<ResourceKind, "group" | "kind">): string {
  return group === "" ? kind : `${kind}.${group}`;
}

/** @throws {ApiError} Invalid: the object has no kind, or no name where one is required */
export function referenceOf(object: KubernetesObject, requireName = true): ObjectReference {
  const { apiVersion, kind, metadata } = object;
  const name = metadata?.name;
  if (typeof apiVersion !== "string" || typeof kind !== "string") {
    throw new ApiError("Invalid", `object ${String(name ?? "")}: apiVersion or kind is missing`);
  }
  if (typeof name !== "string" && requireName) throw new ApiError("Invalid", `${kind}: metadata.name is missing`);
  const namespace = metadata?.namespace;
  return { apiVersion, kind, name: typeof name === "string" ? name : "", namespace: namespace ?? undefined };
}

/**
 * Returns the namespace of an object's path. A missing one is an error: a silent `default` would hide the caller's
 * mistake.
 *
 * @throws {ApiError} Invalid
 */
export function namespaceFor(kind: ResourceKind, { name, namespace }: ObjectReference): string | undefined {
  if (kind.namespaced && (namespace === undefined || namespace === "")) {
    throw new ApiError("Invalid", `${kind.kind} ${name}: the kind is namespaced, and metadata.namespace is missing`);
  }
  return namespace === "" ? undefined : namespace;
}

/** An object in words: `Secret default/db`. */
export function describe({ kind, name, namespace }: ObjectReference): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

/** @throws {ApiError} ServerError: the response is not an object with a name */
export function liveObject(what: string, value: JsonValue): LiveObject {
  if (!isLive(value)) throw new ApiError("ServerError", `${what}: the response is not an object with a name`);
  return value;
}

export function isLive(value: JsonValue | LiveObject): value is LiveObject {
  const metadata = isObject(value) ? value["metadata"] : undefined;
  return isObject(metadata) && typeof metadata["name"] === "string";
}
