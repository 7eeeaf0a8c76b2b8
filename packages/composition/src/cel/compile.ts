import { check, type Variables } from "./check/check.ts";
import { checkLiterals } from "./check/check-literals.ts";
import { estimateCost, type SizeOf } from "./cost/estimate.ts";
import type { Budget } from "./evaluate/budget.ts";
import { plan } from "./evaluate/plan.ts";
import { MissingKey } from "./evaluate/read-value.ts";
import { allFunctions } from "./library/functions.ts";
import { allParts, CelSyntaxError } from "./syntax/expression.ts";
import { parse } from "./syntax/parse.ts";
import { UNHASHABLE } from "./values/equality.ts";
import { BOOL, STRING, type Type } from "./values/type.ts";
import { Failure, type Value } from "./values/value.ts";
import { allowVisits, EXCEEDED, MAX_VISITS } from "./values/visit.ts";

/** The longest expression, as in an API server. */
const MAX_LENGTH = 100_000;

/** Parts of types that may be visited. The longest expressions with types of the usual size need a tenth. */
const MAX_TYPE_VISITS = 2_000_000;

/** The result of an expression, or its error, which contains no value of the data. */
export type Outcome = { readonly value: Value } | { readonly failure: string };

/** A compiled expression. */
export interface Program {
  /** The variables that it reads. */
  readonly reads: ReadonlySet<string>;
  /** Its largest cost for data of the given sizes. */
  cost(sizeOf: SizeOf): number;
  /** Evaluates it. Undefined if it exceeds the budget. */
  evaluate(values: Readonly<Record<string, Value | undefined>>, budget: Budget): Outcome | undefined;
}

/** The type that an expression must have, and the variables that it can read. */
export interface ProgramOptions {
  readonly type: "bool" | "string";
  /** Whether the result can have a type that is only known when it is evaluated. Rules of a schema cannot. */
  readonly isDynamic?: boolean;
  readonly variables: Variables;
}

/** Compiles an expression like an API server. Returns the problem of an invalid one. */
export function compile(text: string, options: ProgramOptions): Program | { readonly problem: string } {
  if (text.length > MAX_LENGTH) return { problem: `is longer than ${MAX_LENGTH} characters` };
  allowVisits(MAX_TYPE_VISITS);
  try {
    return compiled(text, options);
  } catch (error) {
    if (error === EXCEEDED) return { problem: "has types that are too large" };
    if (error instanceof CelSyntaxError) return { problem: `is not valid CEL: ${error.message}` };
    // Only long chains of operators overflow the stack before they reach the bound on nesting.
    if (error instanceof RangeError) return { problem: "is nested too deeply" };
    throw error;
  } finally {
    allowVisits(MAX_VISITS);
  }
}

const RESULTS: Readonly<Record<ProgramOptions["type"], Type>> = { bool: BOOL, string: STRING };

function compiled(
  text: string,
  { type, variables, isDynamic = false }: ProgramOptions,
): Program | { readonly problem: string } {
  const root = parse(text);
  const [problem] = check(root, variables, allFunctions());
  if (problem !== undefined) return { problem: `is not valid CEL: ${problem}` };
  const [literal] = checkLiterals(root);
  if (literal !== undefined) return { problem: `is not valid CEL: ${literal}` };
  const result = root.type?.kind;
  if (result !== RESULTS[type].kind && !(isDynamic && result === "dyn")) {
    return { problem: `must evaluate to a ${type}, not to a ${root.type?.name}` };
  }
  const names = [...variables.keys()];
  const { step, places } = plan(root, names);
  const used = new Set(allParts(root).map((part) => (part.kind === "ident" ? part.name : "")));
  return {
    reads: new Set(names.filter((name) => used.has(name))),
    cost: (sizeOf) => estimateCost(root, sizeOf),
    evaluate(values, budget): Outcome | undefined {
      const frame = {
        budget,
        values: Array.from({ length: places }, (_, at) => (at < names.length ? values[names[at] ?? ""] : undefined)),
      };
      try {
        const value = budget.run(() => step(frame));
        if (value === undefined) return undefined;
        return value instanceof Failure ? { failure: messageOf(value, text) } : { value };
      } catch (error) {
        if (error === UNHASHABLE) return { failure: UNHASHABLE.message };
        throw error;
      }
    },
  };
}

/** The key of a failure is quoted only if the expression contains it: it can be a value of the data. */
function messageOf(failure: Failure, expression: string): string {
  if (failure instanceof MissingKey && expression.includes(failure.key)) return `no such key: ${failure.key}`;
  return failure.message;
}
