import { isObject, type JsonObject, objectAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";

/** The entries of a CRD's `spec.versions` that the API server serves. */
export function servedVersions(crd: LiveObject): readonly JsonObject[] {
  const versions = objectAt(crd, "spec")["versions"];
  return (Array.isArray(versions) ? versions : []).filter(isObject).filter((version) => version["served"] === true);
}
