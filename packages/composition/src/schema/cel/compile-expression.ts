import type { Environment } from "@marcbachmann/cel-js";
import { formatPath, type JsonPath } from "@xfn/functionio";
import type { SchemaFinding } from "../structural/schema-error.ts";
import { type Known, undefinedFields } from "./check-fields.ts";
import { ruleEnvironment } from "./environment.ts";
import { CelFunctionError } from "./failure.ts";
import { Meter } from "./meter.ts";
import { allNodes, meterNodes, replaceCalls } from "./syntax.ts";

/** The longest rule or message expression. Long ones in use have some hundred characters. */
const MAX_RULE_LENGTH = 10_000;

/** The variables of a rule. */
export interface Scope {
  readonly self: unknown;
  /** Absent if there is no old value. */
  readonly oldSelf?: unknown;
}

/** The result of an expression, or its error. */
export type Outcome = { readonly value: unknown } | { readonly failure: string };

/** A compiled expression, whose evaluation is metered. */
export interface Expression {
  readonly usesOldSelf: boolean;
  evaluate(scope: Scope, meter: Meter): Outcome;
}

/** The requirements of an expression. */
export interface ExpressionOptions {
  /** The type of its result. */
  readonly type: "bool" | "string";
  /** The schema of the rule. */
  readonly self: Known;
  /** Whether `oldSelf` is an optional. */
  readonly optionalOldSelf: boolean;
}

/** Compiles one expression of a schema, or reports what is wrong with it. */
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
    // An error of the library must not end the program.
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
  // Runs before the check, which looks up functions by name.
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

// Messages that replace errors of the library that quote an argument.
const WITHOUT_VALUE: ReadonlyMap<string, string> = new Map([
  ["numeric_overflow", "integer overflow"],
  ["bool_conversion_error", "type conversion error from string to bool"],
  ["invalid_duration", "invalid duration"],
]);

/** The first line of an error in Kubernetes' form: in lower case, without the position in the expression. */
function summaryOf(error: unknown): string {
  if (error instanceof CelFunctionError) return error.message;
  if (!(error instanceof Error)) return "it failed";
  // JavaScript's errors quote arguments, such as the name of a time zone.
  if (!("summary" in error && typeof error.summary === "string")) return "invalid argument";
  const text = WITHOUT_VALUE.get("code" in error ? String(error.code) : "") ?? error.summary;
  const [first = ""] = text.split("\n");
  // The message may quote literals of the rule and keys, but no values.
  const line = first.slice(0, 300);
  return `${line.charAt(0).toLowerCase()}${line.slice(1)}`;
}
