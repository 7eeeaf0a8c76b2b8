import { CodedError } from "@xfn/errors";
import type { Type } from "../values/type.ts";
import type { Value } from "../values/value.ts";

/** The function that a call resolved to. */
export interface Overload {
  readonly id: string;
  /** The name of the function. */
  readonly name: string;
  /** Whether it is called on a value: `text.size()`. The value is the first parameter. */
  readonly isMember: boolean;
  readonly params: readonly Type[];
  readonly result: Type;
  /** The names of its type variables. */
  readonly variables: readonly string[];
  call(...args: Value[]): Value;
}

/** The parts that all expressions have. The checker fills them in. */
interface Common {
  /** The type of the result. */
  type?: Type;
}

/** A literal. Types of the language are literals, too, once they are checked. */
export interface Literal extends Common {
  readonly kind: "literal";
  readonly value: Value;
}

/** A variable, or the name of a type. */
export interface Ident extends Common {
  readonly kind: "ident";
  name: string;
  /** The value, if the name is that of a type. */
  constant?: Value;
}

/** A field of a value. With `testOnly` its presence: the macro `has`. */
export interface Select extends Common {
  readonly kind: "select";
  readonly operand: Expression;
  readonly field: string;
  readonly testOnly: boolean;
  /** The variable, if the chain of fields is the qualified name of one. */
  qualified?: Ident;
}

/** A call of a function or an operator. */
export interface Call extends Common {
  readonly kind: "call";
  name: string;
  target: Expression | undefined;
  readonly args: readonly Expression[];
  overloads?: readonly Overload[];
}

export interface ListLiteral extends Common {
  readonly kind: "list";
  readonly items: readonly Expression[];
  /** The indexes of optional items: `[?a]`. */
  readonly optional: ReadonlySet<number>;
}

export interface MapLiteral extends Common {
  readonly kind: "map";
  readonly entries: readonly { readonly key: Expression; readonly value: Expression; readonly optional: boolean }[];
}

/** A loop over a list or map, to which macros such as `all` expand. */
export interface Fold extends Common {
  readonly kind: "fold";
  readonly range: Expression;
  readonly variable: string;
  readonly second: string | undefined;
  readonly accumulator: string;
  readonly start: Expression;
  readonly condition: Expression;
  readonly step: Expression;
  readonly result: Expression;
}

/** A parsed expression. */
export type Expression = Literal | Ident | Select | Call | ListLiteral | MapLiteral | Fold;

/** A text is not a valid expression. */
export class CelSyntaxError extends CodedError<"InvalidExpression"> {
  override readonly name = "CelSyntaxError";

  constructor(message: string, options?: ErrorOptions) {
    super("InvalidExpression", message, options);
  }
}

/** Creates the call of a function or an operator. */
export function call(name: string, ...args: Expression[]): Call {
  return { kind: "call", name, target: undefined, args };
}

/** The parts of an expression. */
export function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case "literal":
    case "ident":
      return [];
    case "select":
      return [expression.operand];
    case "call":
      return expression.target === undefined ? expression.args : [expression.target, ...expression.args];
    case "list":
      return expression.items;
    case "map":
      return expression.entries.flatMap(({ key, value }) => [key, value]);
    case "fold":
      return [expression.range, expression.start, expression.condition, expression.step, expression.result];
  }
}

/** Visits an expression and all of its parts, without recursion. */
export function allParts(root: Expression): Expression[] {
  const parts: Expression[] = [root];
  for (let next = 0; next < parts.length; next++) parts.push(...partsOf(parts[next] as Expression));
  return parts;
}
