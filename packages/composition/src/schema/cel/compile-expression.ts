import type { Environment } from "@marcbachmann/cel-js";
import { formatPath, type JsonPath } from "@xfn/functionio";
import type { SchemaFinding } from "../structural/schema-error.ts";
import { type Known, undefinedFields } from "./check-fields.ts";
import { ruleEnvironment } from "./environment.ts";
import { CelFunctionError } from "./failure.ts";
import { Meter } from "./meter.ts";
import { allNodes, meterNodes, replaceCalls } from "./syntax.ts";

/** Rules and message expressions that are longer are refused; long ones have some hundred characters. */
export const MAX_RULE_LENGTH = 10_000;

/** What a rule is evaluated with. */
export interface Scope {
  readonly self: unknown;
  /** Absent: there is nothing to compare with. */
  readonly oldSelf?: unknown;
}

/** The outcome of an expression: what it returned, or why it did not. */
export type Outcome = { readonly value: unknown } | { readonly failure: string };

/** An expression, checked and metered. */
export interface Expression {
  readonly usesOldSelf: boolean;
  evaluate(scope: Scope, meter: Meter): Outcome;
}

/** What an expression is to be. */
export interface ExpressionOptions {
  /** What it must evaluate to. */
  readonly type: "bool" | "string";
  /** The schema that it stands in. */
  readonly self: Known;
  /** Whether `oldSelf` is an optional. */
  readonly optionalOldSelf: boolean;
}

/** Compiles one expression of a schema, or tells `report` what is wrong with it. */
export function compileExpression(
  text: string,
  at: JsonPath,
  options: ExpressionOptions,
  report: (finding: SchemaFinding) => void,
): Expression | undefined {
  const wrong = (message: string): undefined => {
    report({ path: formatPath(at), at, message });
  };
  if (text.length > MAX_RULE_LENGTH) return wrong(`is longer than ${MAX_RULE_LENGTH} characters`);
  const environment = ruleEnvironment(options.optionalOldSelf);
  try {
    return compiled(environment, text, options, wrong);
  } catch (error) {
    // Not an error of the expression but of the library: it must not end the program.
    if (error instanceof RangeError) return wrong("is nested too deeply");
    return wrong(`is not valid CEL: ${summaryOf(error)}`);
  }
}

function compiled(
  environment: Environment,
  text: string,
  { type, self, optionalOldSelf }: ExpressionOptions,
  wrong: (message: string) => undefined,
): Expression | undefined {
  const program = environment.parse(text);
  // Replaced before the check, which looks functions up by their names.
  replaceCalls(allNodes(program.ast));
  const check = program.check();
  if (!check.valid) return wrong(`is not valid CEL: ${summaryOf(check.error)}`);
  if (check.type !== type && check.type !== "dyn") return wrong(`must evaluate to a ${type}, not to a ${check.type}`);
  const nodes = allNodes(program.ast);
  const [root] = nodes;
  const [problem] = root === undefined ? [] : undefinedFields(root, self, optionalOldSelf);
  if (problem !== undefined) return wrong(`is not valid CEL: ${problem}`);
  let current = new Meter();
  meterNodes(nodes, () => current);
  return {
    usesOldSelf: nodes.some(({ op, args }) => op === "id" && args === "oldSelf"),
    evaluate(scope, meter): Outcome {
      current = meter;
      try {
        return { value: program({ ...scope }) as unknown };
      } catch (error) {
        return { failure: summaryOf(error) };
      }
    },
  };
}

// Errors of the library that quote what a function was given, in words that do not.
const WITHOUT_VALUE: ReadonlyMap<string, string> = new Map([
  ["numeric_overflow", "integer overflow"],
  ["bool_conversion_error", "type conversion error from string to bool"],
  ["invalid_duration", "invalid duration"],
]);

/** The first line of an error, as Kubernetes words it: in lower case, without the place in the expression. */
function summaryOf(error: unknown): string {
  if (error instanceof CelFunctionError) return error.message;
  if (!(error instanceof Error)) return "it failed";
  // JavaScript's own errors quote what a function was given, such as the name of a time zone.
  if (!("summary" in error && typeof error.summary === "string")) return "invalid argument";
  const text = WITHOUT_VALUE.get("code" in error ? String(error.code) : "") ?? error.summary;
  const [first = ""] = text.split("\n");
  // Literals of the rule may be quoted here, and keys; never more of the value than that.
  const line = first.slice(0, 300);
  return `${line.charAt(0).toLowerCase()}${line.slice(1)}`;
}
