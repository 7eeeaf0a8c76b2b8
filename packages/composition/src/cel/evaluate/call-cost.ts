import { codePoints } from "../../values/code-points.ts";
import { Format } from "../library/named-formats.ts";
import type { Overload } from "../syntax/expression.ts";
import { CelMap, CelObject, Extension, List, Optional, type Value } from "../values/value.ts";
import { visit, visitText } from "../values/visit.ts";

// The same factors as those of estimates: see cost/range.ts.
const TEXT_FACTOR = 0.1;
const PATTERN_FACTOR = 0.25;

type CostOf = (args: readonly Value[], result: Value) => number;

/** The cost of a call, by its arguments and its result. */
export function callCost({ name, id }: Overload, args: readonly Value[], result: Value): number {
  return (BY_NAME.get(name) ?? BY_ID.get(id))?.(args, result) ?? 1;
}

function size(value: Value | undefined): number {
  if (typeof value === "string") {
    visitText(value);
    return codePoints(value);
  }
  if (value instanceof List) return value.items.length;
  if (value instanceof CelMap) return value.entries.size;
  if (value instanceof CelObject) return value.fields.size;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof Optional && value.value !== undefined) return size(value.value);
  return 1;
}

const reads =
  (factor = 1): CostOf =>
  ([text]) =>
    Math.ceil(size(text) * factor * TEXT_FACTOR);

const matches: CostOf = ([text, pattern]) =>
  Math.ceil((1 + size(text)) * TEXT_FACTOR) * Math.ceil(size(pattern) * PATTERN_FACTOR);

const walks: CostOf = ([value]) => traversal(value ?? null);

function traversal(value: Value): number {
  visit();
  if (typeof value === "string" || value instanceof Uint8Array) return Math.floor(value.length * TEXT_FACTOR);
  if (value instanceof List) return value.items.reduce<number>((total, item) => total + traversal(item), 0);
  return 1;
}

const validates: CostOf = ([format, text]) =>
  Math.ceil((1 + size(text)) * TEXT_FACTOR) *
  Math.ceil((format instanceof Format ? format.patternLength : 1) * PATTERN_FACTOR);

const sets =
  (factor: number): CostOf =>
  ([a, b]) =>
    Math.ceil(size(a) * size(b) * factor) + 1;

const equals: CostOf = ([a, b]) => (a instanceof Extension ? 1 : compared(a, b));

function compared(a: Value | undefined, b: Value | undefined): number {
  return Math.ceil(Math.min(size(a), size(b)) * TEXT_FACTOR);
}

function each(names: string, cost: CostOf): [string, CostOf][] {
  return names.split(" ").map((name) => [name, cost]);
}

const BY_NAME: ReadonlyMap<string, CostOf> = new Map<string, CostOf>([
  ...each("isSorted sum max min indexOf lastIndexOf", walks),
  ...each("url lowerAscii upperAscii substring trim cidr isIP isCIDR ip quantity isQuantity semver isSemver", reads()),
  ...each("replace split ip.isCanonical", reads(2)),
  ["join", (_args: readonly Value[], result: Value) => reads(2)([result], result)],
  ...each("find findAll", matches),
  ["validate", validates],
  ["sets.contains", sets(1)],
  ["sets.intersects", sets(1)],
  ["sets.equivalent", sets(2)],
  ["_==_", equals],
  ["_!=_", ([a, b]: readonly Value[]) => compared(a, b)],
]);

const ORDERS = ["_<_", "_<=_", "_>_", "_>=_"].flatMap((name) => [`${name} string`, `${name} bytes`]);

const BY_ID: ReadonlyMap<string, CostOf> = new Map<string, CostOf>([
  ...each("starts_with_string ends_with_string string_to_bytes bytes_to_string strings_quote string_format", reads()),
  ["in_list", ([, list]: readonly Value[]) => size(list)],
  ...ORDERS.map((id): [string, CostOf] => [id, ([a, b]) => compared(a, b)]),
  ...each("add_string add_bytes", ([a, b]) => Math.ceil((size(a) + size(b)) * TEXT_FACTOR)),
  ["matches_string", matches],
  ["contains_string", ([text, part]: readonly Value[]) => reads()([text ?? ""], "") * reads()([part ?? ""], "")],
]);
