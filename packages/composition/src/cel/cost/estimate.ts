import { codePoints } from "../../values/code-points.ts";
import type { Call, Expression, Fold } from "../syntax/expression.ts";
import { DYN, insideOptional, type Type } from "../values/type.ts";
import { costOfFunction, type Part } from "./function-costs.ts";
import { fixed, NOTHING, product, type Range, sum, UNKNOWN, UNLIMITED, union } from "./range.ts";

/**
 * The largest size of a value in the data of a rule: characters, items or entries. Undefined if it is not known.
 *
 * @param path - the variable and the fields, with `@items`, `@values` and `@keys` for those of lists and maps
 */
export type SizeOf = (path: readonly string[]) => number | undefined;

/**
 * Estimates the largest cost of an evaluation like an API server, which refuses rules that could cost too much. The
 * unit is about 50 ns of a server.
 */
export function estimateCost(root: Expression, sizeOf: SizeOf): number {
  return new Estimate(sizeOf).cost(root).max;
}

/** The sizes of the keys and values of a list or map. */
interface Entries {
  readonly isList: boolean;
  readonly key: Range;
  readonly value: Range;
}

/** A variable of a loop. */
interface Local {
  readonly path: readonly string[];
  readonly size: Range | undefined;
  readonly entries: Entries | undefined;
}

const LIST_COST = 10;
const MAP_COST = 30;

class Estimate {
  readonly #sizeOf: SizeOf;
  readonly #paths: Map<Expression, readonly string[]> = new Map();
  readonly #sizes: Map<Expression, Range> = new Map();
  readonly #entries: Map<Expression, Entries> = new Map();
  readonly #locals: Map<string, Local[]> = new Map();

  constructor(sizeOf: SizeOf) {
    this.#sizeOf = sizeOf;
  }

  cost(expression: Expression): Range {
    switch (expression.kind) {
      case "literal":
        return NOTHING;
      case "ident":
        this.#paths.set(expression, this.#local(expression.name)?.path ?? [expression.name]);
        return fixed(1);
      case "select": {
        if (expression.qualified !== undefined) {
          this.#paths.set(expression, [expression.qualified.name]);
          return fixed(1);
        }
        const operand = this.cost(expression.operand);
        if (expression.testOnly) return operand;
        this.#paths.set(expression, [...this.#path(expression.operand), expression.field]);
        const { kind } = expression.operand.type ?? DYN;
        return kind === "map" || kind === "struct" || kind === "param" ? sum(operand, fixed(1)) : operand;
      }
      case "call":
        return this.#call(expression);
      case "list": {
        const costs = expression.items.map((item) => this.cost(item));
        const value = this.#unionOfSizes(expression.items);
        this.#entries.set(expression, { isList: true, key: fixed(1), value });
        return sum(fixed(LIST_COST), ...costs);
      }
      case "map": {
        const costs = expression.entries.flatMap(({ key, value }) => [this.cost(key), this.cost(value)]);
        const key = this.#unionOfSizes(expression.entries.map((entry) => entry.key));
        const value = this.#unionOfSizes(expression.entries.map((entry) => entry.value));
        this.#entries.set(expression, { isList: false, key, value });
        return sum(fixed(MAP_COST), ...costs);
      }
      case "fold":
        return isBinding(expression) ? this.#binding(expression) : this.#fold(expression);
    }
  }

  #unionOfSizes(expressions: readonly Expression[]): Range {
    if (expressions.length === 0) return NOTHING;
    return expressions.map((one) => this.#size(one) ?? UNKNOWN).reduce(union);
  }

  #call(call: Call): Range {
    const { name, args, target, overloads = [] } = call;
    if (name === "dyn" && args[0] !== undefined) {
      const cost = sum(fixed(1), this.cost(args[0]));
      this.#copySizes(call, args[0]);
      return cost;
    }
    const costs = args.map((arg) => this.cost(arg));
    const parts = args.map((arg) => this.#part(arg));
    if (overloads.length === 0) return NOTHING;
    const targetCost = target === undefined ? NOTHING : this.cost(target);
    const targetPart = target === undefined ? undefined : this.#part(target);
    let cost: Range = { min: UNLIMITED, max: 0 };
    let size: Range | undefined;
    for (const { id } of overloads) {
      const one = costOfFunction({ name, id, target: targetPart, args: parts, costs });
      cost = union(cost, one.cost);
      if (one.size !== undefined) size = size === undefined ? one.size : union(size, one.size);
      const [container] = args;
      if ((id === "index_list" || id === "index_map") && container !== undefined) {
        size = this.#entriesOf(container)?.value;
        this.#paths.set(call, [...this.#path(container), id === "index_list" ? "@items" : "@values"]);
      }
      size ??= this.#size(call);
      this.#combineEntries(call, id);
    }
    if (size !== undefined) this.#sizes.set(call, size);
    return sum(targetCost, cost);
  }

  /** The entries of `a ? b : c` and of `a + b` come from both operands. */
  #combineEntries(call: Call, id: string): void {
    if (id !== "conditional" && !id.startsWith("add_")) return;
    const [left, right] = call.args.slice(-2).map((arg) => this.#entriesOf(arg));
    if (left === undefined || right === undefined) return;
    const { isList } = left;
    this.#entries.set(call, { isList, key: union(left.key, right.key), value: union(left.value, right.value) });
  }

  #fold(fold: Fold): Range {
    const rangeCost = this.cost(fold.range);
    const startCost = this.cost(fold.start);
    this.#bind(fold.accumulator, fold.start);
    const entries = this.#entriesOf(fold.range);
    const isList = entries?.isList ?? fold.range.type?.kind === "list";
    const path = this.#path(fold.range);
    const key: Local = { path: [...path, isList ? "@indices" : "@keys"], size: entries?.key, entries: undefined };
    const value: Local = { path: [...path, isList ? "@items" : "@values"], size: entries?.value, entries: undefined };
    this.#push(fold.variable, fold.second === undefined && isList ? value : key);
    if (fold.second !== undefined) this.#push(fold.second, value);
    const condition = this.cost(fold.condition);
    const step = this.cost(fold.step);
    this.#pop(fold.variable);
    if (fold.second !== undefined) this.#pop(fold.second);
    const result = this.cost(fold.result);
    this.#pop(fold.accumulator);
    const count = this.#size(fold.range) ?? UNKNOWN;
    if (fold.start.kind === "literal") {
      const size = this.#size(fold.start);
      if (size !== undefined) this.#sizes.set(fold, size);
    } else if (fold.start.kind === "list" || fold.start.kind === "map") {
      this.#sizes.set(fold, count);
      const made = this.#entriesOf(fold.step);
      if (made !== undefined) this.#entries.set(fold, made);
    }
    return sum(rangeCost, startCost, result, product(count, sum(step, condition)));
  }

  /** A loop without items that binds a variable: `optMap`. */
  #binding(fold: Fold): Range {
    const range = this.cost(fold.range);
    const start = this.cost(fold.start);
    this.#bind(fold.accumulator, fold.start);
    const result = this.cost(fold.result);
    this.#pop(fold.accumulator);
    this.#copySizes(fold, fold.result);
    return sum(range, start, result);
  }

  #bind(name: string, value: Expression): void {
    this.#push(name, { path: this.#path(value), size: this.#size(value), entries: this.#entriesOf(value) });
  }

  #push(name: string, local: Local): void {
    const locals = this.#locals.get(name);
    if (locals === undefined) this.#locals.set(name, [local]);
    else locals.push(local);
  }

  #pop(name: string): void {
    this.#locals.get(name)?.pop();
  }

  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  #part(expression: Expression): Part {
    const path = this.#path(expression);
    const [root] = path;
    return {
      // Accumulators are not data of the rule.
      path: root?.startsWith("@") === true ? [] : path,
      type: expression.type ?? DYN,
      literal: expression.kind === "literal" ? expression.value : undefined,
      size: this.#size(expression),
      sizeOf: this.#sizeOf,
    };
  }

  #path(expression: Expression): readonly string[] {
    const local = expression.kind === "ident" ? this.#local(expression.name) : undefined;
    return local?.path ?? this.#paths.get(expression) ?? [];
  }

  #copySizes(to: Expression, from: Expression): void {
    const size = this.#size(from);
    if (size !== undefined) this.#sizes.set(to, size);
    const entries = this.#entriesOf(from);
    if (entries !== undefined) this.#entries.set(to, entries);
  }

  #entriesOf(expression: Expression): Entries | undefined {
    return (
      this.#entries.get(expression) ?? (expression.kind === "ident" ? this.#local(expression.name)?.entries : undefined)
    );
  }

  #size(expression: Expression): Range | undefined {
    const known = this.#sizes.get(expression) ?? sizeOfLiteral(expression);
    if (known !== undefined) return known;
    const path = this.#path(expression);
    const max = path.length === 0 ? undefined : this.#sizeOf(path);
    if (max !== undefined) {
      const size = { min: 0, max };
      this.#sizes.set(expression, size);
      return size;
    }
    if (isScalar(expression.type ?? DYN)) return fixed(1);
    return expression.kind === "ident" ? this.#local(expression.name)?.size : undefined;
  }
}

function isBinding({ range, condition, accumulator }: Fold): boolean {
  return (
    range.kind === "list" &&
    range.items.length === 0 &&
    condition.kind === "literal" &&
    condition.value === false &&
    accumulator !== "@result"
  );
}

function sizeOfLiteral(expression: Expression): Range | undefined {
  switch (expression.kind) {
    case "literal": {
      const { value } = expression;
      if (typeof value === "string") return fixed(codePoints(value));
      return fixed(value instanceof Uint8Array ? value.length : 1);
    }
    case "list":
      return fixed(expression.items.length);
    case "map":
      return fixed(expression.entries.length);
    default:
      return undefined;
  }
}

function isScalar(type: Type): boolean {
  const inner = insideOptional(type);
  if (inner !== undefined) return isScalar(inner);
  return ["bool", "double", "duration", "int", "timestamp", "uint"].includes(type.kind);
}
