import type { JsonObject } from "@xfn/functionio";

/**
 * The kind of an object as Kubernetes reads it: empty if it is missing, or if the apiVersion is not one (more than one
 * slash).
 */
export function kindOfObject(object: JsonObject): string {
  const { kind, apiVersion } = object;
  if (typeof kind !== "string") return "";
  return typeof apiVersion === "string" && apiVersion.split("/").length > 2 ? "" : kind;
}

/** Whether an object says what it is; Kubernetes reads no other. It does without an apiVersion. */
export function hasKind(object: JsonObject): boolean {
  return kindOfObject(object) !== "";
}
