import { formatPath, isObject, type JsonObject, type JsonPath } from "@xfn/functionio";
import type { SchemaFinding } from "../structural/schema-error.ts";
import type { Known } from "./check-fields.ts";
import { compileExpression, type Expression, type ExpressionOptions } from "./compile-expression.ts";
import { ruleEnvironment } from "./environment.ts";

/** One entry of `x-kubernetes-validations`. */
export interface Rule {
  readonly text: string;
  readonly message: string | undefined;
  readonly reason: string | undefined;
  readonly fieldPath: JsonPath;
  readonly optionalOldSelf: boolean;
  readonly usesOldSelf: boolean;
  readonly expression: Expression;
  readonly messageExpression: Expression | undefined;
}

/** Compiles the rules of one schema. Wrong rules are reported and skipped. */
export function compileRules(self: Known, report: (finding: SchemaFinding) => void): Rule[] {
  const { keywords, path } = self.schema;
  const given = keywords["x-kubernetes-validations"];
  const rules: Rule[] = [];
  for (const [index, rule] of (Array.isArray(given) ? given : []).entries()) {
    if (!isObject(rule)) continue;
    const at: JsonPath = [...path, "x-kubernetes-validations", index];
    const text = textOf(rule, "rule")?.trim() ?? "";
    if (text === "") {
      report({ path: formatPath([...at, "rule"]), at: [...at, "rule"], message: "is empty; give an expression" });
      continue;
    }
    const optionalOldSelf = rule["optionalOldSelf"] === true;
    const options: Omit<ExpressionOptions, "type"> = {
      environment: ruleEnvironment(optionalOldSelf),
      // The fields of an optional are not checked.
      variables: new Map([["self", self], ...(optionalOldSelf ? [] : [["oldSelf", self] as const])]),
    };
    const expression = compileExpression(text, [...at, "rule"], { type: "bool", ...options }, report);
    const messageText = textOf(rule, "messageExpression");
    const messageExpression =
      messageText === undefined
        ? undefined
        : compileExpression(messageText, [...at, "messageExpression"], { type: "string", ...options }, report);
    if (expression === undefined) continue;
    rules.push({
      text,
      message: textOf(rule, "message")?.trim(),
      reason: textOf(rule, "reason"),
      fieldPath: fieldPathOf(textOf(rule, "fieldPath") ?? ""),
      optionalOldSelf,
      usesOldSelf: expression.nodes.some(({ op, args }) => op === "id" && args === "oldSelf"),
      expression,
      messageExpression,
    });
  }
  return rules;
}

function textOf(rule: JsonObject, field: string): string | undefined {
  const value = rule[field];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Splits `.spec.x` or `.labels['example.org/a']` into keys. */
function fieldPathOf(text: string): string[] {
  return [...text.matchAll(/\.([^.[\]']+)|\['([^']*)'\]/g)].map(([, name, quoted]) => name ?? quoted ?? "");
}
