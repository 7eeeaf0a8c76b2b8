import type { Call, Expression, Fold, ListLiteral, MapLiteral, Overload, Select } from "../syntax/expression.ts";
import { fitsType } from "../values/type-of-value.ts";
import { CelMap, Failure, type Key, keyOf, List, Optional, type Value } from "../values/value.ts";
import { append, insertAll, insertOne } from "./accumulate.ts";
import { callCost } from "./call-cost.ts";
import { access, fieldOf, has, pairsOf } from "./read-value.ts";
import { NO_OVERLOAD, type Step } from "./step.ts";

/**
 * Prepares a checked expression. The code has one closure for each part.
 *
 * @param variables - the names of the variables, at the places of their values
 */
export function plan(root: Expression, variables: readonly string[]): { step: Step; places: number } {
  const planner = new Planner(variables);
  return { step: planner.step(root), places: planner.places };
}

class Planner {
  readonly #places: Map<string, number[]>;
  places: number;

  constructor(variables: readonly string[]) {
    this.#places = new Map(variables.map((name, place) => [name, [place]]));
    this.places = variables.length;
  }

  step(expression: Expression): Step {
    switch (expression.kind) {
      case "literal": {
        const { value } = expression;
        return () => value;
      }
      case "ident":
        return this.#ident(expression.name, expression.constant);
      case "select":
        return this.#select(expression);
      case "call":
        return this.#call(expression);
      case "list":
        return this.#list(expression);
      case "map":
        return this.#map(expression);
      case "fold":
        return this.#fold(expression);
    }
  }

  #ident(name: string, constant: Value | undefined): Step {
    if (constant !== undefined) return () => constant;
    const place = this.#places.get(name)?.at(-1) ?? -1;
    return ({ budget, values }) => {
      budget.add(1);
      return values[place] ?? absent(values[place]);
    };
  }

  #select(select: Select): Step {
    if (select.qualified !== undefined) return this.#ident(select.qualified.name, select.qualified.constant);
    const operand = this.step(select.operand);
    const { field, testOnly } = select;
    const cost = costOfAccess(select.operand);
    return (frame) => {
      const value = operand(frame);
      if (value instanceof Failure) return value;
      if (testOnly) return has(value, field);
      frame.budget.add(cost);
      return fieldOf(value, field);
    };
  }

  #call(call: Call): Step {
    const { name, args, target, overloads = [] } = call;
    const steps = (target === undefined ? args : [target, ...args]).map((arg) => this.step(arg));
    const [first = nothing, second = nothing, third = nothing] = steps;
    switch (name) {
      case "_&&_":
        return either(first, second, false);
      case "_||_":
        return either(first, second, true);
      case "@not_strictly_false":
        return (frame) => {
          frame.budget.add(1);
          return first(frame) !== false;
        };
      case "_?_:_":
        return (frame) => {
          const condition = first(frame);
          if (condition === true) return second(frame);
          if (condition === false) return third(frame);
          return condition instanceof Failure ? condition : NO_OVERLOAD;
        };
      case "_[_]":
      case "_[?_]":
        return access(first, second, name === "_[?_]", costOfAccess(args[0]));
      case "_?._":
        return access(first, second, true, costOfAccess(args[0]));
      case "or":
      case "orValue":
        return (frame) => {
          const value = first(frame);
          if (!(value instanceof Optional)) return value instanceof Failure ? value : NO_OVERLOAD;
          if (value.value === undefined) return second(frame);
          return name === "or" ? value : value.value;
        };
      default:
    }
    return this.#extending(call, steps) ?? this.#constantCall(call, first, second) ?? dispatched(overloads, steps);
  }

  /** Adds an item to the list or map that a macro makes. Only the macro sees it, so it is extended in place. */
  #extending({ name, args }: Call, steps: readonly Step[]): Step | undefined {
    const [target, item] = args;
    if (target?.kind !== "ident" || target.name !== ACCUMULATOR) return undefined;
    const [accumulated = nothing, second = nothing, third] = steps;
    if (name === "_+_" && item?.kind === "list" && item.items.length === 1 && item.items[0] !== undefined) {
      const value = this.step(item.items[0]);
      return (frame) => append(accumulated(frame), value(frame), frame.budget);
    }
    if (name !== "cel.@mapInsert") return undefined;
    if (third === undefined) return (frame) => insertAll(accumulated(frame), second(frame), frame.budget);
    return (frame) => insertOne(accumulated(frame), second(frame), third(frame), frame.budget);
  }

  /** `x in [1, 2]` of literals costs nothing, and conversions of literals are done once. */
  #constantCall({ name, args, overloads = [] }: Call, first: Step, second: Step): Step | undefined {
    const [left, right] = args;
    if (name === "@in" && right?.kind === "list" && right.items.every(isPrimitive) && overloads[0] !== undefined) {
      const [overload] = overloads;
      // cel-go replaces this by a constant, so that the item is not evaluated.
      if (right.items.length === 0) return () => false;
      return (frame) => {
        const value = first(frame);
        return value instanceof Failure ? value : overload.call(value, second(frame));
      };
    }
    if (args.length === 1 && left?.kind === "literal" && CONVERSIONS.has(name) && overloads[0] !== undefined) {
      const result = overloads[0].call(left.value);
      return () => result;
    }
    return undefined;
  }

  #list({ items, optional }: ListLiteral): Step {
    const steps = items.map((item) => this.step(item));
    if (items.every(({ kind }) => kind === "literal")) {
      const constant = new List(items.map((item) => (item.kind === "literal" ? item.value : null)));
      return () => constant;
    }
    return (frame) => {
      const values: Value[] = [];
      for (const [index, step] of steps.entries()) {
        const value = step(frame);
        if (value instanceof Failure) return value;
        if (!optional.has(index)) values.push(value);
        else if (!(value instanceof Optional)) return NO_OVERLOAD;
        else if (value.value !== undefined) values.push(value.value);
      }
      frame.budget.add(10);
      return new List(values);
    };
  }

  #map({ entries }: MapLiteral): Step {
    const steps = entries.map(({ key, value, optional }) => ({
      key: this.step(key),
      value: this.step(value),
      optional,
    }));
    return (frame) => {
      const result = new Map<Key, Value>();
      for (const { key, value, optional } of steps) {
        const name = key(frame);
        if (name instanceof Failure) return name;
        let item = value(frame);
        if (item instanceof Failure) return item;
        const found = keyOf(name);
        if (found === undefined || typeof name === "number") return new Failure("unsupported key type");
        if (optional) {
          if (!(item instanceof Optional)) return NO_OVERLOAD;
          if (item.value === undefined) continue;
          item = item.value;
        }
        result.set(found, item);
      }
      frame.budget.add(30);
      return new CelMap(result);
    };
  }

  #fold(fold: Fold): Step {
    const range = this.step(fold.range);
    const start = startOf(fold.start) ?? this.step(fold.start);
    const accumulator = this.#enter(fold.accumulator);
    const first = this.#enter(fold.variable);
    const second = fold.second === undefined ? undefined : this.#enter(fold.second);
    const condition = this.step(fold.condition);
    const next = this.step(fold.step);
    this.#leave(fold.variable);
    if (fold.second !== undefined) this.#leave(fold.second);
    const result = this.step(fold.result);
    this.#leave(fold.accumulator);
    return (frame) => {
      const items = range(frame);
      const pairs = pairsOf(items);
      if (pairs instanceof Failure) return pairs;
      const { values } = frame;
      values[accumulator] = start(frame);
      for (const [key, value] of pairs) {
        values[first] = second === undefined && items instanceof List ? value : key;
        if (second !== undefined) values[second] = value;
        if (condition(frame) !== true) break;
        values[accumulator] = next(frame);
      }
      return result(frame);
    };
  }

  /** Gives a variable of a loop a place of its own, because loops can be within loops. */
  #enter(name: string): number {
    const place = this.places++;
    const places = this.#places.get(name);
    if (places === undefined) this.#places.set(name, [place]);
    else places.push(place);
    return place;
  }

  #leave(name: string): void {
    this.#places.get(name)?.pop();
  }
}

const CONVERSIONS: ReadonlySet<string> = new Set("bool bytes double duration int string timestamp uint".split(" "));

const ACCUMULATOR = "@result";

/** A new empty list or map for each loop, which the loop extends in place. */
function startOf(start: Expression): Step | undefined {
  if (start.kind === "list" && start.items.length === 0) {
    return ({ budget }) => {
      budget.add(10);
      return new List([]);
    };
  }
  if (start.kind !== "map" || start.entries.length > 0) return undefined;
  return ({ budget }) => {
    budget.add(30);
    return new CelMap(new Map());
  };
}

const nothing: Step = () => NO_OVERLOAD;

function absent(value: Value | undefined): Value {
  return value === undefined ? new Failure("no such attribute") : value;
}

function isPrimitive(item: Expression): boolean {
  return item.kind === "literal" && item.value !== null && !(item.value instanceof Uint8Array);
}

/** Each field of a variable costs 1. Reading from a result costs 1 more. */
function costOfAccess(operand: Expression | undefined): number {
  let current = operand;
  while (current !== undefined) {
    if (current.kind === "ident") return 1;
    if (current.kind === "select") current = current.operand;
    else if (current.kind === "call" && ["_[_]", "_[?_]", "_?._"].includes(current.name)) [current] = current.args;
    else return 2;
  }
  return 2;
}

/** `&&` and `||`: the value that decides wins over a failure on the other side. */
function either(left: Step, right: Step, decisive: boolean): Step {
  return (frame) => {
    const first = left(frame);
    if (first === decisive) return decisive;
    const second = right(frame);
    if (second === decisive) return decisive;
    if (first instanceof Failure) return first;
    if (second instanceof Failure) return second;
    return typeof first === "boolean" && typeof second === "boolean" ? !decisive : NO_OVERLOAD;
  };
}

/** Calls the first function whose parameters fit the values. */
function dispatched(overloads: readonly Overload[], steps: readonly Step[]): Step {
  return (frame) => {
    const args: Value[] = [];
    for (const step of steps) {
      const value = step(frame);
      if (value instanceof Failure) return value;
      args.push(value);
    }
    for (const overload of overloads) {
      if (!overload.params.every((type, at) => fitsType(args[at] as Value, type))) continue;
      const result = overload.call(...args);
      frame.budget.add(callCost(overload, args, result));
      return result;
    }
    return NO_OVERLOAD;
  };
}
