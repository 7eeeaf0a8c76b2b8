import type { YAMLMap } from "yaml";
import { isFilled, mapAt, mapOf, mapsIn, pairOf, setText, take, textAt } from "./yaml-nodes.ts";

/**
 * Writes out what an API server or this engine fills in for templates, and functions do not: names, types of patches
 * and transforms. Merge options become the policy of the target, as the function calls them.
 *
 * @param holder has `resources`, `patchSets` and `environment`; changed in place
 */
export function explicitTemplates(holder: YAMLMap): void {
  for (const [index, template] of mapsIn(holder, "resources")) {
    if (textAt(template, "name") === "") setFirst(template, "name", `template-${index}`);
    for (const [, patch] of mapsIn(template, "patches")) explicitPatch(patch);
    for (const [, detail] of mapsIn(template, "connectionDetails")) explicitDetail(detail);
  }
  for (const [, set] of mapsIn(holder, "patchSets"))
    for (const [, patch] of mapsIn(set, "patches")) explicitPatch(patch);
  const environment = mapAt(holder, "environment");
  if (environment !== undefined) for (const [, patch] of mapsIn(environment, "patches")) explicitPatch(patch);
}

function explicitPatch(patch: YAMLMap): void {
  if (textAt(patch, "type") === "") setFirst(patch, "type", "FromCompositeFieldPath");
  for (const [, transform] of mapsIn(patch, "transforms")) explicitTransform(transform);
  const policy = mapAt(patch, "policy");
  const merge = policy && mapAt(policy, "mergeOptions");
  if (policy === undefined || merge === undefined) return;
  take(policy, "mergeOptions");
  setText(policy, "toFieldPath", targetPolicy(merge));
}

/** The names of the function for the merge options of templates. */
export const TARGET_POLICIES: Readonly<Record<string, { readonly keep: boolean; readonly append: boolean }>> = {
  MergeObjects: { keep: true, append: false },
  MergeObjectsAppendArrays: { keep: true, append: true },
  ForceMergeObjects: { keep: false, append: false },
  ForceMergeObjectsAppendArrays: { keep: false, append: true },
};

function targetPolicy(merge: YAMLMap): string {
  const keep = isTrue(merge, "keepMapValues");
  const append = isTrue(merge, "appendSlice");
  const found = Object.entries(TARGET_POLICIES).find(([, one]) => one.keep === keep && one.append === append);
  return found?.[0] ?? "Replace";
}

function isTrue(map: YAMLMap, key: string): boolean {
  // YAML 1.1, as Kubernetes reads it.
  return ["true", "yes", "on", "y"].includes(textAt(map, key).toLowerCase());
}

const TRANSFORM_TYPES: Readonly<Record<string, string>> = { math: "Multiply", string: "Format" };

function explicitTransform(transform: YAMLMap): void {
  for (const [field, type] of Object.entries(TRANSFORM_TYPES)) {
    const config = mapAt(transform, field);
    if (config !== undefined && textAt(config, "type") === "") setFirst(config, "type", type);
  }
  const match = mapAt(transform, "match");
  if (match === undefined) return;
  for (const [, pattern] of mapsIn(match, "patterns"))
    if (textAt(pattern, "type") === "") setFirst(pattern, "type", "literal");
}

/** In the order in which this engine infers the type of a connection detail. */
const DETAIL_TYPES = [
  ["value", "FromValue"],
  ["fromConnectionSecretKey", "FromConnectionSecretKey"],
  ["fromFieldPath", "FromFieldPath"],
] as const;

function explicitDetail(detail: YAMLMap): void {
  if (textAt(detail, "type") === "") {
    const type = DETAIL_TYPES.find(([field]) => pairOf(detail, field) !== undefined)?.[1];
    setFirst(detail, "type", type ?? "FromConnectionSecretKey");
  }
  if (textAt(detail, "name") === "" && isFilled(detail, "fromConnectionSecretKey"))
    setFirst(detail, "name", textAt(detail, "fromConnectionSecretKey"));
}

/** Adds a field at the front, where authors write names and types. */
function setFirst(map: YAMLMap, key: string, text: string): void {
  take(map, key);
  map.items.unshift(...mapOf({ [key]: text }).items);
}
