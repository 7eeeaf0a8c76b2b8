import type { Type } from "../values/type.ts";
import type { Value } from "../values/value.ts";
import {
  fixed,
  PATTERN_FACTOR,
  product,
  type Range,
  sum,
  TEXT_FACTOR,
  times,
  UNKNOWN,
  UNLIMITED,
  union,
} from "./range.ts";

/** The known properties of an operand. */
export interface Part {
  readonly path: readonly string[];
  readonly type: Type;
  readonly literal: Value | undefined;
  readonly size: Range | undefined;
  sizeOf(path: readonly string[]): number | undefined;
}

/** A call whose cost is estimated. */
export interface CostedCall {
  readonly name: string;
  readonly id: string;
  readonly target: Part | undefined;
  readonly args: readonly Part[];
  /** The costs of the arguments. */
  readonly costs: readonly Range[];
}

/** The cost of a call with its arguments, and the size of its result if it is known. */
export interface FunctionCost {
  readonly cost: Range;
  readonly size?: Range;
}

/** The cost of a call, without that of the value that it is called on. */
export function costOfFunction(call: CostedCall): FunctionCost {
  const found = LIBRARY.get(call.name)?.(call) ?? BY_ID(call);
  const own = found ?? { cost: fixed(1) };
  return own.complete === true ? own : { ...own, cost: sum(own.cost, ...call.costs) };
}

interface OwnCost extends FunctionCost {
  /** Whether the cost includes that of the arguments. */
  readonly complete?: true;
}

type Rule = (call: CostedCall) => OwnCost | undefined;

const ONE: OwnCost = { cost: fixed(1) };

function sizeOf(part: Part | undefined): Range {
  if (part === undefined) return UNKNOWN;
  if (part.size !== undefined) return part.size;
  const max = part.path.length === 0 ? undefined : part.sizeOf(part.path);
  return max === undefined ? UNKNOWN : { min: 0, max };
}

/** Reads the text that a function is called on, which bounds the result. */
const readsTarget: Rule = ({ target }) => {
  if (target === undefined) return undefined;
  const size = sizeOf(target);
  return { cost: times(size, TEXT_FACTOR), size };
};

/** Reads the first argument. */
const readsArgument: Rule = ({ args: [first] }) => first && { cost: times(sizeOf(first), TEXT_FACTOR) };

const readsUrl: Rule = (call) => {
  const cost = readsArgument(call);
  return cost && { ...cost, size: sizeOf(call.args[0]) };
};

/** Walks a list once. Texts in it are read. `indexOf` is a function of texts, too. */
const walksList: Rule = ({ target }) => {
  if (target === undefined) return undefined;
  const [item] = target.type.params;
  if (item === undefined) return { cost: times(sizeOf(target), TEXT_FACTOR) };
  const isText = item.kind === "string" || item.kind === "bytes";
  const each = isText ? sum(fixed(1), times(sizeOfItem(target), TEXT_FACTOR)) : fixed(1);
  return { cost: product(sizeOf(target), each) };
};

function sizeOfItem(list: Part): Range {
  const max = list.path.length === 0 ? undefined : list.sizeOf([...list.path, "@items"]);
  return max === undefined ? UNKNOWN : { min: 0, max };
}

const finds: Rule = ({ target, args: [pattern] }) => {
  if (target === undefined || pattern === undefined) return undefined;
  const size = sizeOf(target);
  const text = times(sum(size, fixed(1)), TEXT_FACTOR);
  return { cost: product(text, times(sizeOf(pattern), PATTERN_FACTOR)), size: { min: 0, max: size.max } };
};

const replaces: Rule = ({ target, args: [from, to] }) => {
  if (target === undefined || from === undefined || to === undefined) return undefined;
  const [size, old, next] = [sizeOf(target), sizeOf(from), sizeOf(to)];
  const [mostTimes, mostKept] = replacements(size.max, old.min, next.max <= old.min);
  const [leastTimes, leastKept] = replacements(size.min, old.max, old.max <= next.min);
  const count = { min: leastTimes, max: mostTimes };
  const kept = { min: leastKept, max: mostKept };
  return { cost: times(size, 2 * TEXT_FACTOR), size: sum(product(count, next), kept) };
};

/** How often a part of a text is replaced, and how much of the text stays. */
function replacements(size: number, part: number, isSimilar: boolean): [times: number, kept: number] {
  if (part === 0) return [Math.min(UNLIMITED, size + 1), size];
  return isSimilar ? [0, size] : [Math.ceil(size / part), 0];
}

const splits: Rule = ({ target, args: [, limit] }) => {
  if (target === undefined) return undefined;
  const size = sizeOf(target);
  const max = typeof limit?.literal === "bigint" ? Number(BigInt.asUintN(64, limit.literal)) : size.max;
  return { cost: times(size, 2 * TEXT_FACTOR), size: { min: 0, max } };
};

const joins: Rule = ({ target, args: [separator] }) => {
  if (target === undefined) return undefined;
  const list = sizeOf(target);
  const texts = product(list, sizeOfItem(target));
  const gaps = { min: Math.max(0, list.min - 1), max: Math.max(0, list.max - 1) };
  const size = separator === undefined ? texts : sum(texts, product(sizeOf(separator), gaps));
  return { cost: times(size, TEXT_FACTOR), size };
};

/** Compares two addresses of at most 16 bytes. A text is parsed first. */
const comparesAddresses = (extra: Range, ofText: string): Rule => {
  const compare = sum(times({ min: 8, max: 32 }, TEXT_FACTOR), extra);
  return ({ id, args: [other] }) =>
    other && { cost: id === ofText ? sum(compare, times(sizeOf(other), TEXT_FACTOR)) : compare };
};

const LONGEST_FORMAT_PATTERN = 128;

const validates: Rule = ({ args: [text] }) =>
  text && { cost: times(times(sizeOf(text), TEXT_FACTOR), LONGEST_FORMAT_PATTERN * PATTERN_FACTOR) };

const sets =
  (factor: number): Rule =>
  ({ args: [a, b] }) => ({
    cost: sum(times(product(sizeOf(a), sizeOf(b)), factor), fixed(1)),
  });

/** Values of Kubernetes' types are small. */
const equals: Rule = ({ args: [a, b] }) => {
  if (a === undefined || b === undefined || a.type.name !== b.type.name || a.type.kind !== b.type.kind)
    return undefined;
  switch (a.type.name) {
    case "net.IP":
    case "net.CIDR":
    case "kubernetes.Quantity":
    case "kubernetes.Semver":
      return ONE;
    case "kubernetes.NamedFormat":
      return { cost: times({ min: 1, max: 64 }, TEXT_FACTOR) };
    case "kubernetes.URL":
      return { cost: times(b.size === undefined ? fixed(1) : { min: 1, max: b.size.max }, TEXT_FACTOR) };
    default:
      return undefined;
  }
};

function each(names: string, rule: Rule): [string, Rule][] {
  return names.split(" ").map((name) => [name, rule]);
}

/** The functions of Kubernetes, and those of CEL that Kubernetes estimates itself. */
const LIBRARY: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...each("isSorted sum max min indexOf lastIndexOf", walksList),
  ["url", readsUrl],
  ...each("lowerAscii upperAscii substring trim", readsTarget),
  ["replace", replaces],
  ["split", splits],
  ["join", joins],
  ...each("find findAll", finds),
  ...each("cidr isIP isCIDR quantity isQuantity semver isSemver", readsArgument),
  ["ip", (call: CostedCall) => (call.id === "cidr_ip" ? ONE : readsArgument(call))],
  ["ip.isCanonical", ({ args: [text] }: CostedCall) => ({ cost: times(sizeOf(text), 2 * TEXT_FACTOR) })],
  ["containsIP", comparesAddresses(fixed(0), "contains_ip_string")],
  ["containsCIDR", comparesAddresses(sum(times({ min: 4, max: 16 }, TEXT_FACTOR), fixed(1)), "contains_cidr_string")],
  ["validate", validates],
  ["sets.contains", sets(1)],
  ["sets.intersects", sets(1)],
  ["sets.equivalent", sets(2)],
  ["_==_", equals],
]);

const ORDER = /^_(?:<|<=|>|>=)_ (?:string|bytes)$/;

/** The operators and functions of CEL itself. */
const BY_ID: Rule = ({ id, target, args, costs }) => {
  const [a, b, c] = args;
  switch (id) {
    case "string_format":
      return { cost: times(sizeOf(target), TEXT_FACTOR) };
    case "string_to_bytes": {
      const { min, max } = sizeOf(a);
      return { cost: times(sizeOf(a), TEXT_FACTOR), size: { min, max: Math.min(UNLIMITED, max * 4) } };
    }
    case "bytes_to_string": {
      const { min, max } = sizeOf(a);
      return { cost: times(sizeOf(a), TEXT_FACTOR), size: { min: Math.floor(min / 4), max } };
    }
    case "strings_quote": {
      const { min, max } = sizeOf(a);
      return { cost: times(sizeOf(a), TEXT_FACTOR), size: { min: min + 2, max: Math.min(UNLIMITED, max * 2 + 2) } };
    }
    case "starts_with_string":
    case "ends_with_string":
      return { cost: times(sizeOf(a), TEXT_FACTOR) };
    case "in_list":
      return { cost: sizeOf(b) };
    case "matches_string": {
      const text = times(sum(sizeOf(target), fixed(1)), TEXT_FACTOR);
      return { cost: product(text, times(sizeOf(a), PATTERN_FACTOR)) };
    }
    case "contains_string":
      return { cost: product(times(sizeOf(target), TEXT_FACTOR), times(sizeOf(a), TEXT_FACTOR)) };
    case "logical_and":
    case "logical_or": {
      const [left = fixed(0), right = fixed(0)] = costs;
      return { cost: { min: left.min, max: sum(left, right).max }, complete: true };
    }
    case "conditional": {
      const [condition = fixed(0), yes = fixed(0), no = fixed(0)] = costs;
      return { cost: sum(condition, union(yes, no)), size: union(sizeOf(b), sizeOf(c)), complete: true };
    }
    case "add_string":
    case "add_bytes": {
      const size = sum(sizeOf(a), sizeOf(b));
      return { cost: times(size, TEXT_FACTOR), size };
    }
    case "add_list":
      return { cost: fixed(1), size: sum(sizeOf(a), sizeOf(b)) };
    default:
      return id === "equals" || id === "not_equals" || ORDER.test(id) ? compared(sizeOf(a), sizeOf(b)) : undefined;
  }
};

function compared(a: Range, b: Range): OwnCost {
  const max = Math.min(a.max, b.max);
  return { cost: times({ min: max > 0 ? 1 : 0, max }, TEXT_FACTOR) };
}
