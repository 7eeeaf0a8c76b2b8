import { type JsonObject, type JsonValue, newObject, setField } from "@xfn/json";
import type { GoValue } from "../values/go-value.ts";
import { isObject } from "../values/json.ts";
import { type FieldPath, type FieldPathSegment, indexTooLarge, MAX_INDEX, wrongType } from "./field-path.ts";
import { documentValue } from "./value.ts";

/**
 * Sets the value at a path, in place. Creates missing objects, and lists filled with nulls up to the index. A null item
 * on the way is replaced, a null field is not. The empty path sets nothing, and `*` is a field of that name.
 *
 * The value is copied and normalized as by JSON ({@link documentValue}). On error the object is unchanged.
 *
 * @throws {FieldPathError} `WrongType`, `IndexTooLarge` or `InvalidValue`
 */
export function setFieldPath(object: JsonObject, path: FieldPath, value: GoValue): void {
  const written = documentValue(value);
  const last = path.length - 1;
  let at: JsonValue = object;
  // Build what is missing aside and attach it as a whole, so that an error changes nothing.
  for (let depth = 0; depth <= last; depth++) {
    const segment = path[depth] as FieldPathSegment;
    if (typeof segment === "number") {
      if (segment > MAX_INDEX) throw indexTooLarge(path, depth);
      if (!Array.isArray(at)) throw wrongType(at, path, depth);
      const element: JsonValue = at[segment] ?? null;
      if (depth === last || element === null) return setElement(at, segment, build(path, depth + 1, written));
      at = element;
    } else {
      if (!isObject(at)) throw wrongType(at, path, depth);
      if (depth === last) return setField(at, segment, written);
      const field: JsonValue | undefined = Object.hasOwn(at, segment) ? at[segment] : undefined;
      if (field === undefined) return setField(at, segment, build(path, depth + 1, written));
      at = field;
    }
  }
}

/** Wraps a value in the objects and lists of the segments from `depth` on. */
function build(path: FieldPath, from: number, value: JsonValue): JsonValue {
  let built = value;
  for (let depth = path.length - 1; depth >= from; depth--) {
    const segment = path[depth] as FieldPathSegment;
    if (typeof segment === "number") {
      if (segment > MAX_INDEX) throw indexTooLarge(path, depth);
      const list: JsonValue[] = [];
      setElement(list, segment, built);
      built = list;
    } else {
      const object = newObject();
      object[segment] = built;
      built = object;
    }
  }
  return built;
}

function setElement(list: JsonValue[], index: number, value: JsonValue): void {
  while (list.length < index) list.push(null);
  list[index] = value;
}

/**
 * Deletes the field or item at a path, in place. Later items move up. A missing one is not an error, and the empty path
 * deletes nothing.
 *
 * @throws {FieldPathError} `WrongType`
 */
export function deleteFieldPath(object: JsonObject, path: FieldPath): void {
  const last = path.length - 1;
  let at: JsonValue = object;
  for (let depth = 0; depth < path.length; depth++) {
    const segment = path[depth] as FieldPathSegment;
    let next: JsonValue | undefined;
    if (typeof segment === "number") {
      if (!Array.isArray(at)) throw wrongType(at, path, depth);
      if (depth === last) at.splice(segment, 1);
      else next = at[segment];
    } else {
      if (!isObject(at)) throw wrongType(at, path, depth);
      if (depth === last) delete at[segment];
      else next = Object.hasOwn(at, segment) ? at[segment] : undefined;
    }
    if (next === undefined) return;
    at = next;
  }
}
