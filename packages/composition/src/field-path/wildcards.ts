import type { JsonValue } from "@xfn/json";
import { isObject, kindOf } from "../values/json.ts";
import { type FieldPath, FieldPathError, formatFieldPath, wrongType } from "./field-path.ts";

/**
 * The most segments of all expanded paths together. Each path is set or read separately, so wildcards multiply the
 * work.
 */
const MAX_EXPANDED_SEGMENTS = 1_000_000;

/** A path whose first segments are expanded, and the value at these. */
interface Match {
  path: FieldPath;
  value: JsonValue;
}

/**
 * Replaces each `*` of a path by all existing indexes or keys, in the order of the paths as text. Branches without the
 * rest of the path are skipped, so the result can be empty. A key that is itself `*` is used once, as it is.
 *
 * @throws {FieldPathError} `WrongType`: a value on the path has no fields; `TooManyMatches`
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

/** One step of `findFieldPath`, without a bound on the index: the list exists already. */
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
