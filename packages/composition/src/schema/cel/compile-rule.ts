import { isObject, type JsonObject, type JsonPath } from "@xfn/json";
import { compile, type Program } from "../../cel/compile.ts";
import { optionalOf, type Type } from "../../cel/values/type.ts";
import type { SchemaNode } from "../structural/node.ts";
import type { Report } from "../structural/schema-error.ts";
import type { Declared } from "./declare.ts";

/** One entry of `x-kubernetes-validations`. */
export interface Rule {
  readonly text: string;
  readonly message: string | undefined;
  readonly reason: string | undefined;
  readonly fieldPath: JsonPath;
  readonly optionalOldSelf: boolean;
  /** Whether `optionalOldSelf` is set, even to false. */
  readonly hasOptionalOldSelf: boolean;
  readonly usesOldSelf: boolean;
  readonly program: Program;
  readonly messageProgram: Program | undefined;
  /** Its path in the document of the schema. */
  readonly at: JsonPath;
}

/** Compiles the rules of one schema. Wrong rules are reported and skipped. */
export function compileRules({ keywords, path }: SchemaNode, self: Declared | undefined, report: Report): Rule[] {
  const given = keywords["x-kubernetes-validations"];
  const rules: Rule[] = [];
  for (const [index, rule] of (Array.isArray(given) ? given : []).entries()) {
    if (!isObject(rule)) continue;
    const at: JsonPath = [...path, "x-kubernetes-validations", index];
    const compiled = compileOne(rule, at, self, report);
    if (compiled !== undefined) rules.push(compiled);
  }
  return rules;
}

function compileOne(rule: JsonObject, at: JsonPath, self: Declared | undefined, report: Report): Rule | undefined {
  const wrong = (field: string, message: string): undefined => {
    report([...at, field], message);
  };
  const text = textOf(rule, "rule")?.trim() ?? "";
  if (text === "") return wrong("rule", "is empty; give an expression");
  if (self === undefined) return wrong("rule", "cannot read a value whose schema has no type that expressions know");
  const optionalOldSelf = rule["optionalOldSelf"] === true;
  const variables = variablesOf(self.type, optionalOldSelf);
  const program = compile(text, { type: "bool", variables });
  if ("problem" in program) wrong("rule", program.problem);
  const messageText = textOf(rule, "messageExpression");
  const messageProgram =
    messageText === undefined ? undefined : compile(messageText.trim(), { type: "string", variables });
  if (messageProgram !== undefined && "problem" in messageProgram) wrong("messageExpression", messageProgram.problem);
  if ("problem" in program) return undefined;
  return {
    text,
    message: textOf(rule, "message")?.trim(),
    reason: textOf(rule, "reason"),
    fieldPath: fieldPathOf(textOf(rule, "fieldPath") ?? ""),
    optionalOldSelf,
    hasOptionalOldSelf: rule["optionalOldSelf"] !== undefined,
    usesOldSelf: program.reads.has("oldSelf"),
    program,
    messageProgram: messageProgram === undefined || "problem" in messageProgram ? undefined : messageProgram,
    at,
  };
}

function variablesOf(self: Type, optionalOldSelf: boolean): ReadonlyMap<string, Type> {
  return new Map([
    ["self", self],
    ["oldSelf", optionalOldSelf ? optionalOf(self) : self],
  ]);
}

function textOf(rule: JsonObject, field: string): string | undefined {
  const value = rule[field];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Splits `.spec.x` or `.labels['example.org/a']` into keys. */
function fieldPathOf(text: string): string[] {
  return [...text.matchAll(/\.([^.[\]']+)|\['((?:[^'\\]|\\.)*)'\]/g)].map(
    ([, name, quoted = ""]) => name ?? quoted.replaceAll(/\\(['\\])/g, "$1"),
  );
}
