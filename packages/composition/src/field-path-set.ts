import type { JsonObject, JsonValue } from "@xfn/functionio";
import { type FieldPath, type FieldPathSegment, indexTooLarge, MAX_INDEX, wrongType } from "./field-path.ts";
import { documentValue } from "./field-path-value.ts";
import type { GoValue } from "./go-value.ts";
import { emptyObject, isObject, setField } from "./json.ts";

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
  for (let depth = 0; depth < path.length; depth++) {
    if ((path[depth] as number) > MAX_INDEX && typeof path[depth] === "number") throw indexTooLarge(path, depth);
  }
  const last = path.length - 1;
  let at: JsonValue = object;
  for (let depth = 0; depth < path.length; depth++) {
    const segment = path[depth] as FieldPathSegment;
    if (typeof segment === "number") {
      if (!Array.isArray(at)) throw wrongType(at, path, depth);
      if (depth === last) at[segment] = written;
      else {
        const next = path[depth + 1] as FieldPathSegment;
        const element: JsonValue = at[segment] ?? null;
        at = element === null ? (at[segment] = container(next)) : lengthened(element, next);
      }
    } else {
      if (!isObject(at)) throw wrongType(at, path, depth);
      if (depth === last) setField(at, segment, written);
      else {
        const next = path[depth + 1] as FieldPathSegment;
        const field: JsonValue | undefined = Object.hasOwn(at, segment) ? at[segment] : undefined;
        if (field === undefined) {
          const made = container(next);
          setField(at, segment, made);
          at = made;
        } else at = lengthened(field, next);
      }
    }
  }
}

/** What a segment is to be set in. */
function container(next: FieldPathSegment): JsonValue {
  return typeof next === "number" ? lengthened([], next) : emptyObject();
}

function lengthened(value: JsonValue, next: FieldPathSegment): JsonValue {
  if (typeof next === "number" && Array.isArray(value)) {
    while (value.length <= next) value.push(null);
  }
  return value;
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
