import { NO_OVERLOAD } from "../evaluate/step.ts";
import { type FormatPart, partsOfFormat, type Verb } from "../library/format-text.ts";
import { patternOf } from "../library/patterns.ts";
import {
  allParts,
  type Call,
  type Expression,
  type ListLiteral,
  type MapLiteral,
  partsOf,
} from "../syntax/expression.ts";
import { DYN, insideOptional, printType, sameType, type Type } from "../values/type.ts";
import { fitsType } from "../values/type-of-value.ts";
import { Failure, List, type Value } from "../values/value.ts";

/** The conversions that an API server evaluates for constants when it reads a rule. */
const CONVERSIONS: ReadonlySet<string> = new Set(
  "bool bytes double duration dyn int string timestamp type uint".split(" "),
);

/** The functions with a pattern as their argument. */
const PATTERNS: ReadonlySet<string> = new Set(["matches", "find", "findAll"]);

/** Checks literals of an expression beyond their types: patterns, times, formats, and lists of one type. */
export function checkLiterals(root: Expression): string[] {
  const problems: string[] = [];
  checkAggregates(root, false, problems);
  for (const part of allParts(root)) {
    if (part.kind !== "call") continue;
    if (CONVERSIONS.has(part.name)) checkConversion(part, problems);
    else if (PATTERNS.has(part.name)) checkPattern(part, problems);
    else if (part.name === "format") checkFormat(part, problems);
  }
  return problems;
}

function checkConversion(call: Call, problems: string[]): void {
  if (constantOf(call) instanceof Failure) problems.push(`invalid ${call.name} argument`);
}

/** The value of a literal, or of conversions of one. Undefined for other expressions. */
function constantOf(expression: Expression): Value | undefined {
  if (expression.kind === "literal") return expression.value;
  if (expression.kind === "list" || expression.kind === "map") return isConstant(expression) ? AGGREGATE : undefined;
  if (expression.kind !== "call" || !CONVERSIONS.has(expression.name) || expression.args.length !== 1) return undefined;
  const value = expression.args[0] && constantOf(expression.args[0]);
  if (value === undefined || value instanceof Failure) return value;
  const overload = expression.overloads?.find(({ params: [type = DYN] }) => fitsType(value, type));
  return overload === undefined ? NO_OVERLOAD : overload.call(value);
}

/** Stands for any list or map of constants: each conversion takes either both or neither, and reads no items. */
const AGGREGATE: List = new List([]);

function isConstant(expression: ListLiteral | MapLiteral): boolean {
  const hasOptional =
    expression.kind === "list" ? expression.optional.size > 0 : expression.entries.some(({ optional }) => optional);
  return !hasOptional && partsOf(expression).every((part) => constantOf(part) !== undefined);
}

function checkPattern({ name, target, args }: Call, problems: string[]): void {
  const pattern = target === undefined ? args[1] : args[0];
  if (pattern?.kind !== "literal" || typeof pattern.value !== "string") return;
  if (patternOf(pattern.value) instanceof Failure) problems.push(`invalid ${name} argument`);
}

/** Lists and maps of literals have one type, except among the arguments of `format`. */
function checkAggregates(expression: Expression, isExempt: boolean, problems: string[]): void {
  const inner = isExempt || (expression.kind === "call" && expression.name === "format");
  if (!isExempt && expression.kind === "list") {
    requireOne(
      expression.items.map(({ type }, index) => unwrapped(type, expression.optional.has(index), problems)),
      problems,
    );
  } else if (!isExempt && expression.kind === "map") {
    const { entries } = expression;
    requireOne(
      entries.map(({ key }) => key.type),
      problems,
    );
    requireOne(
      entries.map(({ value, optional }) => unwrapped(value.type, optional, problems)),
      problems,
    );
  }
  for (const part of partsOf(expression)) checkAggregates(part, inner, problems);
}

function unwrapped(type: Type | undefined, optional: boolean, problems: string[]): Type | undefined {
  if (!optional || type === undefined) return type;
  const inner = insideOptional(type);
  // An API server of Kubernetes 1.34 panics (cel-go 0.26). Any other problem comes second.
  if (inner === undefined) problems.unshift("an optional element has the type 'dyn': wrap it in optional.of()");
  return inner ?? type;
}

function requireOne(types: readonly (Type | undefined)[], problems: string[]): void {
  const [first = DYN] = types;
  const other = types.find((type) => type !== undefined && !sameType(type, first));
  if (other !== undefined) problems.push(`expected type '${printType(first)}' but found '${printType(other)}'`);
}

const VERB_KINDS: Readonly<Record<Exclude<Verb, "s">, readonly string[]>> = {
  d: ["int", "uint"],
  f: ["double", "string"],
  e: ["double", "string"],
  b: ["int", "uint", "bool"],
  x: ["int", "uint", "string", "bytes"],
  X: ["int", "uint", "string", "bytes"],
  o: ["int", "uint"],
};

const PRINTABLE: readonly string[] = "list map int uint double bool string timestamp bytes duration type null".split(
  " ",
);

function checkFormat({ target, args }: Call, problems: string[]): void {
  const [list] = args;
  if (target?.kind !== "literal" || typeof target.value !== "string" || list?.kind !== "list") return;
  const parts = partsOfFormat(target.value);
  if (parts instanceof Failure) {
    problems.push(parts.message);
    return;
  }
  const verbs = parts.filter((part): part is Exclude<FormatPart, string> => typeof part !== "string");
  if (verbs.length > list.items.length) problems.push(`index ${list.items.length} out of range`);
  else if (verbs.length < list.items.length) {
    problems.push(`too many arguments supplied to string.format (expected ${verbs.length}, got ${list.items.length})`);
  }
  for (const [index, { verb }] of verbs.entries()) {
    const item = list.items[index];
    if (item === undefined) break;
    const fits = verb === "s" ? isPrintable(item) : isOneOf(item, VERB_KINDS[verb]);
    if (!fits) problems.push(`%${verb} cannot format a value of type ${printType(item.type ?? DYN)}`);
  }
}

function isOneOf({ type = DYN }: Expression, kinds: readonly string[]): boolean {
  return type.kind === "dyn" || kinds.includes(type.kind);
}

function isPrintable(expression: Expression): boolean {
  if (!isOneOf(expression, PRINTABLE)) return false;
  return expression.kind !== "list" && expression.kind !== "map" ? true : partsOf(expression).every(isPrintable);
}
