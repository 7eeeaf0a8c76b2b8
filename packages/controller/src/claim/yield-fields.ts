import { formatPath, isObject, type JsonObject } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import { COMPOSITE_MANAGER } from "../objects/composite-intent.ts";
import { fieldsOf } from "../objects/managed-fields.ts";
import { objectAt } from "../objects/read-objects.ts";
import { sameJson } from "../objects/same-json.ts";

/** What was selected is written by the composite's controller too, but it keeps to what others choose. */
const CHOSEN: ReadonlySet<string> = new Set(["compositionRef", "compositionRevisionRef", "compositionUpdatePolicy"]);

/**
 * What a claim wants of an object within its composite, such as its spec or its labels, without the fields that the Composition
 * has set to something else: were both to insist, each would overwrite the other for ever. When the Composition lets go of a
 * field, the claim has it again.
 *
 * @param composite as it is known to be; undefined if there is none: nobody has set anything
 * @returns the paths that were left out, too
 */
export function yieldFields(
  all: JsonObject,
  composite: LiveObject | undefined,
  ...within: readonly string[]
): { own: JsonObject; yielded: string[] } {
  if (composite === undefined) return { own: all, yielded: [] };
  const composed = objectAt(
    fieldsOf(composite, (manager) => manager === COMPOSITE_MANAGER),
    ...within.map((step) => `f:${step}`),
  );
  const yielded: string[] = [];
  const walk = (wanted: JsonObject, has: JsonObject, fields: JsonObject, path: readonly string[]): JsonObject => {
    const rest: JsonObject = Object.create(null) as JsonObject;
    for (const [key, value] of Object.entries(wanted)) {
      const theirs = fields[`f:${key}`];
      const live = Object.hasOwn(has, key) ? has[key] : undefined;
      const at = [...path, key];
      if (!isObject(theirs) || live === undefined || (path.length === 1 && CHOSEN.has(key))) rest[key] = value;
      else if (isObject(value) && isObject(live) && Object.keys(theirs).some((field) => field.startsWith("f:"))) {
        const inner = walk(value, live, theirs, at);
        if (Object.keys(inner).length > 0) rest[key] = inner;
      } else if (isShared(theirs) || sameJson(value, live)) rest[key] = value;
      else yielded.push(formatPath(at));
    }
    return rest;
  };
  return { own: walk(all, objectAt(composite, ...within), composed, within), yielded };
}

/** A list of which each has some items: the server merges it. */
function isShared(fields: JsonObject): boolean {
  return Object.keys(fields).some((field) => /^[kvi]:/.test(field));
}
