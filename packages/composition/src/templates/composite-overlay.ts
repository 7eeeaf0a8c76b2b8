import { type JsonObject, type JsonValue, newObject, setField } from "@xfn/json";
import type { FieldPath, FieldPathSegment } from "../field-path/field-path.ts";
import type { MergeOptions } from "../field-path/merge.ts";
import type { GoValue } from "../values/go-value.ts";
import { isObject, MAX_VALUE_DEPTH } from "../values/json.ts";
import { field } from "../values/object-fields.ts";

/**
 * The fields of the XR that patches set, as opposed to observed ones. A list is one field, because server-side apply
 * cannot own an item of a list by its index.
 */
export class CompositeOverlay {
  readonly #root: Node = { whole: false, fields: new Map() };

  /** Records a write. With merge options, records only the fields of the new value. */
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

  /** The recorded fields with their current values. Undefined if there are none. */
  of(composite: JsonObject): JsonObject | undefined {
    if (this.#root.fields.size === 0) return undefined;
    const overlay = newObject();
    for (const name of ["apiVersion", "kind"]) {
      const value = field(composite, name);
      if (value !== undefined) overlay[name] = value;
    }
    return fill(overlay, this.#root, composite);
  }
}

interface Node {
  /** Marks a field that is set as a whole. */
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
  // `keepMapValues` kept the existing value, which this patch does not desire.
  if (merge?.keepMapValues === true && depth > 0 && now !== value && !Array.isArray(now)) return;
  node.whole = true;
  node.fields.clear();
}

function fill(overlay: JsonObject, node: Node, now: JsonObject): JsonObject {
  for (const [key, inner] of node.fields) {
    const value = field(now, String(key));
    if (value === undefined || (!inner.whole && inner.fields.size === 0)) continue;
    setField(overlay, String(key), inner.whole || !isObject(value) ? value : fill(newObject(), inner, value));
  }
  return overlay;
}
