import type { Environment } from "@marcbachmann/cel-js";
import { formatPath, type JsonPath } from "@xfn/functionio";
import type { SchemaFinding } from "../structural/schema-error.ts";
import { undefinedFields, type Variables } from "./check-fields.ts";
import { CelFunctionError } from "./failure.ts";
import { Meter } from "./meter.ts";
import { allNodes, meterNodes, type Node, replaceCalls } from "./syntax.ts";

/** The longest expression. Long ones in use have some hundred characters. */
const MAX_LENGTH = 10_000;

/** The values of the variables, by name. */
export type Scope = Readonly<Record<string, unknown>>;

/** The result of an expression, or its error. */
export type Outcome = { readonly value: unknown } | { readonly failure: string };

/** A compiled expression, whose evaluation is metered. */
export interface Expression {
  /** Its nodes. */
  readonly nodes: readonly Node[];
  evaluate(scope: Scope, meter: Meter): Outcome;
}

/** The requirements of an expression. */
export interface ExpressionOptions {
  /** The type of its result. */
  readonly type: "bool" | "string";
  readonly environment: Environment;
  /** The variables whose schemas are known. Fields of others are not checked. */
  readonly variables: Variables;
}

/** Compiles one expression, or reports what is wrong with it. */
export function compileExpression(
  text: string,
  at: JsonPath,
  options: ExpressionOptions,
  report: (finding: SchemaFinding) => void,
): Expression | undefined {
  const wrong = (message: string): undefined => {
    report({ path: formatPath(at), at, message });
  };
  if (text.length > MAX_LENGTH) return wrong(`is longer than ${MAX_LENGTH} characters`);
  try {
    return compiled(text, options, wrong);
  } catch (error) {
    // An error of the library must not end the program.
    if (error instanceof RangeError) return wrong("is nested too deeply");
    return wrong(`is not valid CEL: ${summaryOf(error)}`);
  }
}

function compiled(
  text: string,
  { type, environment, variables }: ExpressionOptions,
  wrong: (message: string) => undefined,
): Expression | undefined {
  const program = environment.parse(text);
  // Runs before the check, which looks up functions by name.
  replaceCalls(allNodes(program.ast));
  const check = program.check();
  if (!check.valid) return wrong(`is not valid CEL: ${summaryOf(check.error)}`);
  if (check.type !== type && check.type !== "dyn") return wrong(`must evaluate to a ${type}, not to a ${check.type}`);
  const nodes = allNodes(program.ast);
  const [root] = nodes;
  const [problem] = root === undefined ? [] : undefinedFields(root, variables);
  if (problem !== undefined) return wrong(`is not valid CEL: ${problem}`);
  let current = new Meter();
  meterNodes(nodes, () => current);
  return {
    nodes,
    evaluate(scope, meter): Outcome {
      current = meter;
      try {
        return { value: program({ ...scope }) as unknown };
      } catch (error) {
        return { failure: summaryOf(error, text) };
      }
    },
  };
}

// Messages that replace errors of the library that quote an argument.
const WITHOUT_VALUE: ReadonlyMap<string, string> = new Map([
  ["numeric_overflow", "integer overflow"],
  ["bool_conversion_error", "type conversion error from string to bool"],
  ["invalid_duration", "invalid duration"],
]);

/** The key or index that an error quotes, by its code. It can be a value. */
const QUOTED_KEY: ReadonlyMap<string, RegExp> = new Map([
  ["no_such_key", /^No such key: (.*)$/su],
  ["index_out_of_bounds", /, index (\S+) /u],
]);

/**
 * The first line of an error in Kubernetes' form: in lower case, without the position in the expression.
 *
 * @param expression the text of an expression that was evaluated. Only keys that it contains are quoted
 */
function summaryOf(error: unknown, expression?: string): string {
  if (error instanceof CelFunctionError) return error.message;
  if (!(error instanceof Error)) return "it failed";
  // JavaScript's errors quote arguments, such as the name of a time zone.
  if (!("summary" in error && typeof error.summary === "string")) return "invalid argument";
  const code = "code" in error ? String(error.code) : "";
  const text = WITHOUT_VALUE.get(code) ?? error.summary;
  const [, key] = QUOTED_KEY.get(code)?.exec(text) ?? [];
  if (key !== undefined && expression?.includes(key) === false) return "no such key";
  const [first = ""] = text.split("\n");
  // The message may quote literals and keys of the expression, but no values.
  const line = first.slice(0, 300);
  return `${line.charAt(0).toLowerCase()}${line.slice(1)}`;
}
