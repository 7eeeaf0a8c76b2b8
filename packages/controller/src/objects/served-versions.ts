import { type JsonObject, objectsAt, textAt } from "@xfn/json";
import type { LiveObject, ResourceKind } from "@xfn/kubernetes";

/** The entries of a CRD's `spec.versions` that the API server serves. */
export function servedVersions(crd: LiveObject): readonly JsonObject[] {
  return objectsAt(crd, "spec", "versions").filter((version) => version["served"] === true);
}

/** The kind that a CRD serves; undefined if it serves none. Its names may differ from those in a changed definition. */
export function servedKind(crd: LiveObject): ResourceKind | undefined {
  const served = servedVersions(crd);
  const version = textAt(served.find((one) => one["storage"] === true) ?? served[0], "name");
  const group = textAt(crd, "spec", "group");
  const kind = textAt(crd, "spec", "names", "kind");
  const plural = textAt(crd, "spec", "names", "plural");
  if (version === undefined || group === undefined || kind === undefined || plural === undefined) return undefined;
  return { group, version, kind, plural, namespaced: textAt(crd, "spec", "scope") === "Namespaced" };
}
