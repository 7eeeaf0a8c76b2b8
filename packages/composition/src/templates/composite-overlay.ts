import type { JsonObject, JsonValue } from "@xfn/functionio";
import type { FieldPath, FieldPathSegment } from "../field-path/field-path.ts";
import type { MergeOptions } from "../field-path/merge.ts";
import type { GoValue } from "../values/go-value.ts";
import { emptyObject, isObject, MAX_VALUE_DEPTH, setField } from "../values/json.ts";
import { field } from "../values/object-fields.ts";

/**
 * Which fields of the XR patches have set, to tell what is desired of it from what was observed. A list is one field:
 * server-side apply cannot own an element of a list by its index.
 */
export class CompositeOverlay {
  readonly #root: Node = { whole: false, fields: new Map() };

  /** Notes that a path was set; with merge options, only what the value brought. */
  note(path: FieldPath, value: GoValue, merge: MergeOptions | undefined, composite: JsonObject): void {
    let node = this.#root;
    let at: JsonValue | undefined = composite;
    for (const segment of path) {
      if (typeof segment === "number" || !isObject(at)) break;
      if (node.whole) return;
      at = field(at, segment);
      node = child(node, segment);
    }
    noteValue(node, at, value, merge, 0);
  }

  /** The fields that were set, with their values as they are now. Undefined if there are none. */
  of(composite: JsonObject): JsonObject | undefined {
    if (this.#root.fields.size === 0) return undefined;
    const overlay = emptyObject();
    for (const name of ["apiVersion", "kind"]) {
      const value = field(composite, name);
      if (value !== undefined) overlay[name] = value;
    }
    return fill(overlay, this.#root, composite);
  }
}

interface Node {
  /** The field is set as a whole. */
  whole: boolean;
  fields: Map<FieldPathSegment, Node>;
}

function child(node: Node, segment: string): Node {
  let found = node.fields.get(segment);
  if (found === undefined) node.fields.set(segment, (found = { whole: false, fields: new Map() }));
  return found;
}

function noteValue(
  node: Node,
  now: JsonValue | undefined,
  value: GoValue,
  merge: MergeOptions | undefined,
  depth: number,
): void {
  if (merge !== undefined && isObject(now) && isObject(value) && depth < MAX_VALUE_DEPTH) {
    for (const key of Object.keys(value)) {
      if (node.whole) return;
      noteValue(child(node, key), field(now, key), value[key] ?? null, merge, depth + 1);
    }
    return;
  }
  // `keepMapValues` kept what was there: it is still as desired by whoever wrote it.
  if (merge?.keepMapValues === true && depth > 0 && now !== value && !Array.isArray(now)) return;
  node.whole = true;
  node.fields.clear();
}

function fill(overlay: JsonObject, node: Node, now: JsonObject): JsonObject {
  for (const [key, inner] of node.fields) {
    const value = field(now, String(key));
    if (value === undefined || (!inner.whole && inner.fields.size === 0)) continue;
    setField(overlay, String(key), inner.whole || !isObject(value) ? value : fill(emptyObject(), inner, value));
  }
  return overlay;
}
