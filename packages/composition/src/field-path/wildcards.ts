import type { JsonValue } from "@xfn/functionio";
import { isObject, kindOf } from "../values/json.ts";
import { type FieldPath, FieldPathError, formatFieldPath, wrongType } from "./field-path.ts";

/**
 * How many segments all expanded paths may have together. Each path is set or read on its own, so that wildcards
 * multiply work; no resource has a hundred thousand fields that are meant at once.
 */
const MAX_EXPANDED_SEGMENTS = 1_000_000;

/** A path of which the first segments are settled, and the value that these lead to. */
interface Match {
  path: FieldPath;
  value: JsonValue;
}

/**
 * Replaces each `*` of a path by every index or key that there is, in the order of the paths as text. Where the rest
 * of a path does not exist, its branch is left out without an error, down to the last segment; so nothing may be left.
 * A key that is itself `*` is taken as it is, once.
 *
 * @throws {FieldPathError} `WrongType`: the path leads through something that has no such fields; `TooManyMatches`
 */
export function expandWildcards(root: JsonValue, path: FieldPath): FieldPath[] {
  let matches: Match[] = [{ path, value: root }];
  for (let depth = 0; depth < path.length; depth++) {
    matches = path[depth] === "*" ? expand(matches, depth) : follow(matches, depth);
  }
  return sorted(matches.map((match) => match.path));
}

function follow(matches: Match[], depth: number): Match[] {
  const found: Match[] = [];
  for (const { path, value } of matches) {
    const next = step(value, path, depth);
    if (next !== undefined) found.push({ path, value: next });
  }
  return found;
}

function expand(matches: Match[], depth: number): Match[] {
  const expanded: Match[] = [];
  for (const { path, value } of matches) {
    const segments = Array.isArray(value) ? value.keys() : isObject(value) ? Object.keys(value) : undefined;
    if (segments === undefined) {
      const name = formatFieldPath(path.slice(0, depth)) || "the object";
      throw new FieldPathError("WrongType", `${name}: is ${kindOf(value)}, which has no fields for [*]`);
    }
    for (const segment of segments) {
      const settled = path.with(depth, segment);
      expanded.push({ path: settled, value: step(value, settled, depth) ?? null });
      if (expanded.length * path.length > MAX_EXPANDED_SEGMENTS) {
        throw new FieldPathError(
          "TooManyMatches",
          `${formatFieldPath(path)}: stands for ${expanded.length} fields or more`,
        );
      }
    }
  }
  return expanded;
}

/** One step as `findFieldPath` makes it, but an index may be as large as a list that is there. */
function step(value: JsonValue, path: FieldPath, depth: number): JsonValue | undefined {
  const segment = path[depth];
  if (typeof segment === "number") {
    if (!Array.isArray(value)) throw wrongType(value, path, depth);
    return value[segment];
  }
  if (!isObject(value)) throw wrongType(value, path, depth);
  return segment !== undefined && Object.hasOwn(value, segment) ? value[segment] : undefined;
}

function sorted(paths: FieldPath[]): FieldPath[] {
  return paths
    .map((path) => ({ path, text: formatFieldPath(path) }))
    .toSorted((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
    .map(({ path }) => path);
}
