import type { JsonObject, JsonValue } from "@xfn/functionio";
import type { GoValue } from "../values/go-value.ts";
import { emptyObject, isObject, setField } from "../values/json.ts";
import { type FieldPath, type FieldPathSegment, indexTooLarge, MAX_INDEX, wrongType } from "./field-path.ts";
import { documentValue } from "./value.ts";

/**
 * Sets the value that a path leads to, in place. What is missing on the way is made: objects, and lists filled with
 * nulls up to the index. A null element of a list is replaced by what the path needs; a null field is not. The empty
 * path sets nothing, and `*` is a field of that name.
 *
 * The value is copied, and is afterwards what JSON makes of it ({@link documentValue}). An error leaves the object as
 * it was.
 *
 * @throws {FieldPathError} `WrongType`, `IndexTooLarge` or `InvalidValue`
 */
export function setFieldPath(object: JsonObject, path: FieldPath, value: GoValue): void {
  const written = documentValue(value);
  const last = path.length - 1;
  let at: JsonValue = object;
  // Nothing is changed before the last step that can fail: what is missing is built aside and attached as a whole.
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

/** The objects and lists that the segments from one on stand for, around a value. */
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
      const object = emptyObject();
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
 * Deletes what a path leads to, in place: a field, or an element, whose successors move up. What is not there is no
 * error; the empty path deletes nothing.
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
