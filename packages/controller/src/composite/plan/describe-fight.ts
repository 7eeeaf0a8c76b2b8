import {
  formatPath,
  isObject,
  type JsonObject,
  type JsonValue,
  type KubernetesObject,
  objectAt,
  objectsAt,
  sameJson,
} from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { describeReference, referenceTo } from "../../objects/references.ts";
import { COOLDOWN_MS } from "../state/fight-breaker.ts";

/** The number of fields that a message names. */
const MAX_FIELDS = 3;

/**
 * Describes which fields of an object another writer changes back, and their current owners. Omits values, which may be
 * secrets.
 */
export function describeFight(intent: KubernetesObject, live: LiveObject, manager: string): string {
  const paths = differences(intent, live, []).slice(0, MAX_FIELDS);
  const managers = [...new Set(paths.flatMap((path) => ownersOf(live, path, manager)))];
  const who = managers.length === 0 ? "another writer" : managers.join(" and ");
  const fields = paths.length === 0 ? "its fields" : paths.map((path) => formatPath(path)).join(", ");
  return (
    `${describeReference(referenceTo(live))}: ${who} changes ${fields} back after each apply; ` +
    `it is applied once in ${COOLDOWN_MS / 1000} s until this ends`
  );
}

/** The paths of fields whose values differ from the intent. Lists are compared as a whole. */
function differences(wanted: JsonObject, live: JsonObject, at: readonly string[]): string[][] {
  const paths: string[][] = [];
  for (const key of Object.keys(wanted)) {
    const value = wanted[key] as JsonValue;
    const there = Object.hasOwn(live, key) ? live[key] : undefined;
    if (isObject(value) && isObject(there)) paths.push(...differences(value, there, [...at, key]));
    else if (!sameJson(value, there)) paths.push([...at, key]);
  }
  return paths;
}

/** The field managers other than the controller that own a field, or a field within it. */
function ownersOf({ metadata }: LiveObject, path: readonly string[], own: string): string[] {
  return objectsAt(metadata, "managedFields").flatMap((entry) => {
    const { manager } = entry;
    if (typeof manager !== "string" || manager === own) return [];
    const inner = objectAt(entry, "fieldsV1", ...path.slice(0, -1).map((key) => `f:${key}`));
    return Object.hasOwn(inner, `f:${path.at(-1) ?? ""}`) ? [manager] : [];
  });
}
