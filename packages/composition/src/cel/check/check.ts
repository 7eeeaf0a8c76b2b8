import { closest } from "../../reader/closest.ts";
import type { Functions } from "../library/define.ts";
import type {
  Call,
  Expression,
  Fold,
  Ident,
  ListLiteral,
  Literal,
  MapLiteral,
  Overload,
  Select,
} from "../syntax/expression.ts";
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  ERROR,
  INT,
  insideOptional,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  param,
  printType,
  STRING,
  sameType,
  TIMESTAMP,
  type Type,
  typeOf,
  UINT,
} from "../values/type.ts";
import { TypeValue, Uint, type Value } from "../values/value.ts";
import { type Bindings, isOpen, moreGeneral, resolve, unify } from "./unify.ts";

/** The types of the variables of an expression, by their names. */
export type Variables = ReadonlyMap<string, Type>;

/** The names of types, which are values in expressions. */
const TYPE_NAMES: ReadonlyMap<string, Type> = new Map(
  [BOOL, BYTES, DOUBLE, DURATION, INT, listOf(DYN), mapOf(DYN, DYN), NULL, STRING, TIMESTAMP, UINT, typeOf(DYN)].map(
    (type) => [type.name, type],
  ),
);

/**
 * Checks the types of an expression. Writes the type of each part and the functions of calls into the expression.
 *
 * @returns the problems, in the order of the expression
 */
export function check(root: Expression, variables: Variables, functions: Functions): string[] {
  const checker = new Checker(functions, variables);
  checker.check(root);
  return checker.finish();
}

class Checker {
  readonly #functions: Functions;
  readonly #problems: string[] = [];
  readonly #bindings: Bindings = new Map();
  readonly #checked: Expression[] = [];
  #variables: Variables;
  #free = 0;

  constructor(functions: Functions, variables: Variables) {
    this.#functions = functions;
    this.#variables = variables;
  }

  /** Replaces the type variables of all parts. */
  finish(): string[] {
    for (const part of this.#checked) part.type = resolve(this.#bindings, part.type ?? DYN, DYN);
    return this.#problems;
  }

  check(expression: Expression): Type {
    const type = this.#typeOf(expression);
    expression.type = type;
    this.#checked.push(expression);
    return type;
  }

  #typeOf(expression: Expression): Type {
    switch (expression.kind) {
      case "literal":
        return literalType(expression.value);
      case "ident":
        return this.#ident(expression) ?? this.#wrong(`undeclared reference to '${expression.name.slice(0, 64)}'`);
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

  #wrong(problem: string): Type {
    this.#problems.push(problem);
    return ERROR;
  }

  #fits(a: Type, b: Type): boolean {
    return unify(this.#bindings, [a], [b]);
  }

  #ident(ident: Ident): Type | undefined {
    const variable = this.#variables.get(ident.name);
    if (variable !== undefined) return variable;
    const type = TYPE_NAMES.get(ident.name);
    if (type === undefined) return undefined;
    ident.constant = new TypeValue(type);
    return typeOf(type);
  }

  #select(select: Select): Type {
    const name = select.testOnly ? undefined : qualifiedName(select);
    if (name !== undefined) {
      const ident: Ident = { kind: "ident", name };
      const type = this.#ident(ident);
      if (type !== undefined) {
        select.qualified = ident;
        return type;
      }
    }
    const type = this.#field(select.operand, select.field, false);
    return select.testOnly ? BOOL : resolve(this.#bindings, type);
  }

  #field(operand: Expression, field: string, isOptional: boolean): Type {
    const type = resolve(this.#bindings, this.check(operand));
    const inner = insideOptional(type);
    const result = this.#fieldOf(inner ?? type, field);
    return isOptional || inner !== undefined ? optionalOf(result) : result;
  }

  #fieldOf(type: Type, field: string): Type {
    if (type.kind === "map") return type.params[1] ?? DYN;
    if (type.kind === "struct") {
      const found = type.fields?.get(field);
      if (found !== undefined) return found;
      const meant = closest(field, [...(type.fields?.keys() ?? [])]);
      return this.#wrong(
        `undefined field '${field.slice(0, 64)}'${meant === undefined ? "" : `; did you mean ${meant}?`}`,
      );
    }
    if (type.kind === "param") this.#fits(DYN, type);
    else if (!isOpen(type)) this.#wrong(`type '${printType(type)}' does not support field selection`);
    return DYN;
  }

  #call(call: Call): Type {
    if (call.name === "_?._") {
      const [operand, field] = call.args as [Expression, Literal];
      this.check(field);
      return resolve(this.#bindings, this.#field(operand, field.value as string, true));
    }
    const args = call.args.map((arg) => this.check(arg));
    if (call.target !== undefined) {
      // `a.b.c()` is the function `a.b.c`, if there is one.
      const prefix = qualifiedName(call.target);
      const name = prefix === undefined ? undefined : `${prefix}.${call.name}`;
      if (name !== undefined && this.#functions.has(name)) {
        call.name = name;
        call.target = undefined;
      } else args.unshift(this.check(call.target));
    }
    const overloads = this.#functions.get(call.name);
    if (overloads === undefined) return this.#wrong(`undeclared reference to '${call.name.slice(0, 64)}'`);
    return this.#resolveCall(call, overloads, args);
  }

  #resolveCall(call: Call, overloads: readonly Overload[], args: readonly Type[]): Type {
    const found: Overload[] = [];
    let result: Type | undefined;
    for (const overload of overloads) {
      if (overload.isMember !== (call.target !== undefined)) continue;
      const fresh: Bindings = new Map(overload.variables.map((name) => [name, this.#newVariable()]));
      const params = overload.params.map((type) => resolve(fresh, type));
      if (!unify(this.#bindings, args, params)) continue;
      found.push(overload);
      const type = resolve(this.#bindings, resolve(fresh, overload.result));
      if (result === undefined) result = type;
      else if (result.kind !== "dyn" && !sameType(result, type)) result = DYN;
    }
    call.overloads = found;
    if (result !== undefined) return result;
    const shown = args.map((type) => printType(resolve(this.#bindings, type, DYN)));
    const [receiver, ...rest] = shown;
    const form = call.target === undefined ? `(${shown.join(", ")})` : `${receiver}.(${rest.join(", ")})`;
    return this.#wrong(`found no matching overload for '${call.name}' applied to '${form}'`);
  }

  #newVariable(): Type {
    return param(`_${this.#free++}`);
  }

  #list({ items, optional }: ListLiteral): Type {
    let joined: Type | undefined;
    for (const [index, item] of items.entries()) {
      const type = this.check(item);
      joined = this.#join(joined, optional.has(index) ? this.#unwrapped(type) : type);
    }
    return listOf(joined ?? this.#newVariable());
  }

  #map({ entries }: MapLiteral): Type {
    let [keys, values]: (Type | undefined)[] = [];
    for (const { key, value, optional } of entries) {
      keys = this.#join(keys, this.check(key));
      const type = this.check(value);
      values = this.#join(values, optional ? this.#unwrapped(type) : type);
    }
    return mapOf(keys ?? this.#newVariable(), values ?? this.#newVariable());
  }

  #unwrapped(type: Type): Type {
    const inner = insideOptional(type);
    if (inner === undefined && !isOpen(type)) {
      this.#wrong(`expected type '${printType(optionalOf(type))}' but found '${printType(type)}'`);
    }
    return inner ?? type;
  }

  #join(previous: Type | undefined, type: Type): Type {
    if (previous === undefined) return type;
    return this.#fits(previous, type) ? moreGeneral(previous, type) : DYN;
  }

  #fold(fold: Fold): Type {
    const range = resolve(this.#bindings, this.check(fold.range));
    const start = this.check(fold.start);
    const [first, second] = this.#itemTypes(range, fold.second !== undefined);
    const outer = this.#variables;
    const accumulating = new Map(outer).set(fold.accumulator, start);
    this.#variables = new Map(accumulating).set(fold.variable, first);
    if (fold.second !== undefined) this.#variables = new Map(this.#variables).set(fold.second, second);
    this.#expect(fold.condition, BOOL);
    this.#expect(fold.step, start);
    this.#variables = accumulating;
    const result = this.check(fold.result);
    this.#variables = outer;
    return resolve(this.#bindings, result);
  }

  #itemTypes(range: Type, hasTwo: boolean): [Type, Type] {
    const [key = DYN, value = DYN] = range.params;
    if (range.kind === "list") return hasTwo ? [INT, key] : [key, DYN];
    if (range.kind === "map") return [key, value];
    if (range.kind === "param") this.#fits(DYN, range);
    else if (!isOpen(range)) {
      this.#wrong(`expression of type '${printType(range)}' cannot be range of a comprehension`);
      return [ERROR, ERROR];
    }
    return [DYN, DYN];
  }

  #expect(expression: Expression, type: Type): void {
    const found = this.check(expression);
    if (this.#fits(type, found)) return;
    const [wanted, given] = [type, found].map((one) => printType(resolve(this.#bindings, one, DYN)));
    this.#wrong(`expected type '${wanted}' but found '${given}'`);
  }
}

function literalType(value: Value): Type {
  if (value === null) return NULL;
  if (value instanceof Uint8Array) return BYTES;
  if (value instanceof Uint) return UINT;
  switch (typeof value) {
    case "boolean":
      return BOOL;
    case "bigint":
      return INT;
    case "number":
      return DOUBLE;
    default:
      return STRING;
  }
}

/** The most parts of a declared name: `google.protobuf.Timestamp`. Without it, long chains take quadratic time. */
const MAX_NAME_PARTS = 3;

/** `a.b.c` of a chain of fields. Undefined for a chain longer than any declared name, and for any other expression. */
function qualifiedName(expression: Expression, maxParts: number = MAX_NAME_PARTS): string | undefined {
  if (expression.kind === "ident") return expression.name;
  if (expression.kind !== "select" || expression.testOnly || maxParts === 1) return undefined;
  const prefix = qualifiedName(expression.operand, maxParts - 1);
  return prefix === undefined ? undefined : `${prefix}.${expression.field}`;
}
