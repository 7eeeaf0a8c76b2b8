import type { JsonObject } from "@xfn/json";

/**
 * The kind of an object as Kubernetes reads it: empty if it is missing, or if the apiVersion is invalid (more than one
 * slash).
 */
export function kindOfObject(object: JsonObject): string {
  const { kind, apiVersion } = object;
  if (typeof kind !== "string") return "";
  return typeof apiVersion === "string" && apiVersion.split("/").length > 2 ? "" : kind;
}

/** Whether an object has a kind, without which Kubernetes cannot read it. The apiVersion may be missing. */
export function hasKind(object: JsonObject): boolean {
  return kindOfObject(object) !== "";
}
