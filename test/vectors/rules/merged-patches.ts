import {
  findFieldPath,
  getFieldPath,
  type MergeOptions,
  mergeFieldPath,
  parseFieldPath,
  setFieldPath,
} from "@xfn/composition";
import { isObject, type JsonObject } from "@xfn/json";
import { child, list, type Rule } from "../rule.ts";
import type { VectorCase } from "../vector-file.ts";

/** The directions whose merge options Crossplane applies again when it applies the resource. */
const TO_COMPOSED: ReadonlySet<unknown> = new Set(["FromCompositeFieldPath", "CombineFromComposite"]);

interface Merging {
  template: string;
  path: string;
  options: MergeOptions;
}

/** Existing resources, and patches with merge options. */
export const mergedObserved: Rule = {
  name: "merge-options-see-the-existing-object",
  file: "patches",
  reason:
    "Rendering merges the value of a patch with merge options into that of the existing resource, because a server-side apply cannot. The reference merges when it applies.",
  applies: (vector) => mergings(vector).length > 0,
  outcome: (vector, recorded) => {
    if ("error" in recorded || !isObject(recorded.output)) return recorded;
    const composed: JsonObject = structuredClone(child(recorded.output, "composed"));
    for (const merging of mergings(vector)) {
      const { resource } = child(composed, merging.template);
      if (isObject(resource) && !merge(resource, merging, vector)) composed[merging.template] = { error: true };
    }
    return { output: { ...recorded.output, composed } };
  },
};

/** @returns false if the existing value cannot be merged */
function merge(resource: JsonObject, { template, path, options }: Merging, vector: VectorCase): boolean {
  const existing = structuredClone(child(child(vector, "observed"), template));
  try {
    const segments = parseFieldPath(path);
    const value = findFieldPath(resource, segments) ?? null;
    if (value === null || (findFieldPath(existing, segments) ?? null) === null) return true;
    mergeFieldPath(existing, segments, value, options);
    setFieldPath(resource, segments, getFieldPath(existing, segments));
    return true;
  } catch {
    return false;
  }
}

function mergings(vector: VectorCase): Merging[] {
  const sets = new Map(list(vector["patchSets"]).map(({ name, patches }) => [name, list(patches)]));
  return list(vector["resources"]).flatMap(({ name, patches }) =>
    list(patches)
      .flatMap((patch) => (patch["type"] === "PatchSet" ? (sets.get(patch["patchSetName"] ?? "") ?? []) : [patch]))
      .flatMap(({ type, toFieldPath: path, policy }): Merging[] => {
        const options = isObject(policy) ? policy["mergeOptions"] : undefined;
        const isMerged =
          TO_COMPOSED.has(type) && typeof path === "string" && !path.includes("[*]") && isObject(options);
        if (!isMerged || child(vector, "observed")[String(name)] === undefined) return [];
        return [{ template: String(name), path, options: options as MergeOptions }];
      }),
  );
}
