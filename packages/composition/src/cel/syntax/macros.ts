import type { Value } from "../values/value.ts";
import { type Call, CelSyntaxError, call, type Expression, type Fold, type ListLiteral } from "./expression.ts";

// The name of the accumulator of loops, which no variable can have.
const RESULT = "@result";

/** The number of nodes that macros can still copy. */
export interface Copies {
  left: number;
}

/** Expands a call of a macro. Undefined if the call is not one of a macro. */
export function expandMacro(
  name: string,
  target: Expression | undefined,
  args: readonly Expression[],
  copies: Copies,
): Expression | undefined {
  if (target === undefined) return name === "has" && args.length === 1 ? has(args[0] as Expression) : undefined;
  const macro = MACROS.get(`${name}/${args.length}`);
  return macro?.(name, target, args, copies);
}

/** `has(e.f)`: any `e` is allowed, `f` must be a field. */
function has(argument: Expression): Expression {
  if (argument.kind !== "select" || argument.testOnly) throw new CelSyntaxError("invalid argument to has() macro");
  return { ...argument, testOnly: true };
}

type Macro = (name: string, target: Expression, args: readonly Expression[], copies: Copies) => Expression;

const quantifier =
  (two: boolean): Macro =>
  (name, range, args) => {
    const names = variablesOf(name, args, two);
    const predicate = args.at(-1) as Expression;
    if (name === "all") {
      return fold(range, names, value(true), call("@not_strictly_false", result()), call("_&&_", result(), predicate));
    }
    if (name === "exists") {
      const open = call("@not_strictly_false", call("!_", result()));
      return fold(range, names, value(false), open, call("_||_", result(), predicate));
    }
    const step = call("_?_:_", predicate, call("_+_", result(), value(1n)), result());
    return { ...fold(range, names, value(0n), value(true), step), result: call("_==_", result(), value(1n)) };
  };

/** `map`, `filter` and `transformList`, with or without a filter. */
const listing =
  (two: boolean, filtered: boolean): Macro =>
  (name, range, args) => {
    const names = variablesOf(name, args, two);
    const item = name === "filter" ? { kind: "ident" as const, name: names[0] } : (args.at(-1) as Expression);
    const append = call("_+_", result(), list(item));
    const condition = args[two ? 2 : 1] as Expression;
    const step = filtered ? call("_?_:_", condition, append, result()) : append;
    return fold(range, names, list(), value(true), step);
  };

/** `transformMap` and `transformMapEntry`, with or without a filter. */
const mapping =
  (filtered: boolean): Macro =>
  (name, range, args) => {
    const names = variablesOf(name, args, true);
    const item = args.at(-1) as Expression;
    const insert =
      name === "transformMap"
        ? call("cel.@mapInsert", result(), { kind: "ident", name: names[0] }, item)
        : call("cel.@mapInsert", result(), item);
    const step = filtered ? call("_?_:_", args[2] as Expression, insert, result()) : insert;
    return fold(range, names, { kind: "map", entries: [] }, value(true), step);
  };

const optionalMap =
  (flat: boolean): Macro =>
  (name, target, args, copies) => {
    const variable = nameOf(name, args[0] as Expression);
    const bound: Fold = {
      kind: "fold",
      range: list(),
      variable: "#unused",
      second: undefined,
      accumulator: variable,
      start: { kind: "call", name: "value", target: copyOf(target, copies), args: [] },
      condition: value(false),
      step: { kind: "ident", name: variable },
      result: args[1] as Expression,
    };
    const present: Call = { kind: "call", name: "hasValue", target, args: [] };
    return call("_?_:_", present, flat ? bound : call("optional.of", bound), call("optional.none"));
  };

const MACROS: ReadonlyMap<string, Macro> = new Map<string, Macro>([
  ["all/2", quantifier(false)],
  ["exists/2", quantifier(false)],
  ["exists_one/2", quantifier(false)],
  ["map/2", listing(false, false)],
  ["map/3", listing(false, true)],
  ["filter/2", listing(false, true)],
  ["all/3", quantifier(true)],
  ["exists/3", quantifier(true)],
  ["exists_one/3", quantifier(true)],
  ["existsOne/3", quantifier(true)],
  ["transformList/3", listing(true, false)],
  ["transformList/4", listing(true, true)],
  ["transformMap/3", mapping(false)],
  ["transformMap/4", mapping(true)],
  ["transformMapEntry/3", mapping(false)],
  ["transformMapEntry/4", mapping(true)],
  ["optMap/2", optionalMap(false)],
  ["optFlatMap/2", optionalMap(true)],
]);

function variablesOf(macro: string, args: readonly Expression[], two: boolean): [string, string | undefined] {
  const first = nameOf(macro, args[0] as Expression);
  if (!two) return [first, undefined];
  const second = nameOf(macro, args[1] as Expression);
  if (first === second) throw new CelSyntaxError(`duplicate variable name: ${first}`);
  return [first, second];
}

function nameOf(macro: string, variable: Expression): string {
  if (variable.kind !== "ident") throw new CelSyntaxError(`the variable of ${macro} must be a simple identifier`);
  if (variable.name === "__result__") {
    throw new CelSyntaxError("iteration variable overwrites accumulator variable");
  }
  return variable.name;
}

function fold(
  range: Expression,
  [variable, second]: [string, string | undefined],
  start: Expression,
  condition: Expression,
  step: Expression,
): Fold {
  return { kind: "fold", range, variable, second, accumulator: RESULT, start, condition, step, result: result() };
}

function value(constant: Value): Expression {
  return { kind: "literal", value: constant };
}

function list(...items: Expression[]): ListLiteral {
  return { kind: "list", items, optional: new Set() };
}

function result(): Expression {
  return { kind: "ident", name: RESULT };
}

/** A copy with nodes of its own, because the checker writes to nodes. */
function copyOf(expression: Expression, copies: Copies): Expression {
  if (--copies.left < 0) throw new CelSyntaxError("has too many nested optMap and optFlatMap calls");
  const copy = (part: Expression): Expression => copyOf(part, copies);
  switch (expression.kind) {
    case "literal":
    case "ident":
      return { ...expression };
    case "select":
      return { ...expression, operand: copy(expression.operand) };
    case "call":
      return {
        ...expression,
        target: expression.target && copy(expression.target),
        args: expression.args.map(copy),
      };
    case "list":
      return { ...expression, items: expression.items.map(copy) };
    case "map":
      return {
        ...expression,
        entries: expression.entries.map((entry) => ({ ...entry, key: copy(entry.key), value: copy(entry.value) })),
      };
    case "fold":
      return {
        ...expression,
        range: copy(expression.range),
        start: copy(expression.start),
        condition: copy(expression.condition),
        step: copy(expression.step),
        result: copy(expression.result),
      };
  }
}
