import type { JsonObject, JsonPath, JsonValue } from "@xfn/json";
import { isObject } from "../../values/json.ts";
import { checkedDefaults } from "../structural/check-values.ts";
import { applySchemaDefaults } from "../structural/default.ts";
import { allNodes, type SchemaNode } from "../structural/node.ts";
import type { Report } from "../structural/schema-error.ts";
import type { Rule } from "./compile-rule.ts";
import { type Declared, sizeAt } from "./declare.ts";
import { compileAllRules, type Rules } from "./run-rules.ts";

/** The largest estimated cost of a rule for all of its values in one object. */
const MAX_RULE_COST = 10_000_000;
/** The largest estimated cost of all rules of a schema. */
const MAX_SCHEMA_COST = 100_000_000;
const MAX_REQUEST = 3 * 1024 * 1024;

const REASONS: readonly string[] = [
  "FieldValueRequired",
  "FieldValueForbidden",
  "FieldValueInvalid",
  "FieldValueDuplicate",
];

/**
 * Reports the rules of a schema that an API server refuses: https://kubernetes.io/docs/reference/using-api/cel/. It
 * estimates their cost from `maxItems`, `maxProperties` and `maxLength`, and evaluates them on defaults.
 */
export function checkRulesOf(root: SchemaNode, report: Report): void {
  let problems = 0;
  const counting: Report = (at, message) => {
    problems++;
    report(at, message);
  };
  const rules = compileAllRules(root, counting);
  for (const node of allNodes(root)) checkTexts(node, counting);
  new CostCheck(rules, counting).check(root);
  // A default can fail only rules that can be evaluated.
  if (problems === 0) checkDefaults(root, rules, counting);
}

/** Checks the parts of rules other than their expressions. */
function checkTexts(node: SchemaNode, report: Report): void {
  const given = node.keywords["x-kubernetes-validations"];
  for (const [index, rule] of (Array.isArray(given) ? given : []).entries()) {
    if (!isObject(rule)) continue;
    const at = (field: string): JsonPath => [...node.path, "x-kubernetes-validations", index, field];
    const text = (field: string): string => textOf(rule, field);
    const [message, fieldPath, reason] = [text("message"), text("fieldPath"), text("reason")];
    if (message !== "" && message.trim() === "") report(at("message"), "must not be blank");
    else if (/[\r\n]/.test(message.trim())) report(at("message"), "must not contain line breaks");
    else if (message === "" && /[\r\n]/.test(text("rule").trim())) {
      report(at("message"), "is missing; a rule with line breaks needs one");
    }
    if (rule["reason"] !== undefined && !REASONS.includes(reason)) {
      report(at("reason"), `is not one of ${REASONS.join(", ")}`);
    }
    if (fieldPath !== "" && !isFieldPath(node, fieldPath))
      report(at("fieldPath"), "is not a path to a field of the schema");
  }
}

function textOf(rule: JsonObject, field: string): string {
  const value = rule[field];
  return typeof value === "string" ? value : "";
}

/** Whether a path such as `.spec.x` or `.labels['a/b']` leads to a field that the schema declares. */
function isFieldPath(node: SchemaNode, text: string): boolean {
  let current: SchemaNode | undefined = node;
  let at = 0;
  while (at < text.length) {
    const [step, name, quoted] = /^(?:\.([^.[\]']+)|\['((?:[^'\\]|\\.)*)'\])/.exec(text.slice(at)) ?? [];
    const key = name ?? quoted?.replaceAll(/\\(['\\])/g, "$1");
    if (step === undefined || key === undefined || current === undefined) return false;
    const { properties, additional }: SchemaNode = current;
    current = properties.size > 0 ? properties.get(key) : typeof additional === "object" ? additional : undefined;
    if (current === undefined) return false;
    at += step.length;
  }
  return true;
}

/** The number of times that a schema can apply in one object, by the bounds of the lists and maps around it. */
interface Place {
  /** Undefined without bounds. */
  readonly count: number | undefined;
  /** The list or map around it whose items have no counterparts before an update. */
  readonly uncorrelated: SchemaNode | undefined;
}

class CostCheck {
  readonly #rules: Rules;
  readonly #report: Report;
  #total = 0;

  constructor(rules: Rules, report: Report) {
    this.#rules = rules;
    this.#report = report;
  }

  check(root: SchemaNode): void {
    this.#node(root, { count: 1, uncorrelated: undefined });
    if (this.#total <= MAX_SCHEMA_COST) return;
    this.#report(root.path, `the estimated cost of all rules ${exceeds(this.#total, MAX_SCHEMA_COST)}`);
  }

  #node(node: SchemaNode, place: Place): void {
    const declared = this.#rules.declared(node);
    for (const rule of this.#rules.of(node)) if (declared !== undefined) this.#rule(rule, declared, place);
    const inner: Place = { ...place, count: times(place.count, elementsOf(node)) };
    for (const property of node.properties.values()) this.#node(property, inner);
    if (typeof node.additional === "object") this.#node(node.additional, inner);
    if (node.items === undefined) return;
    const uncorrelated = node.listType === "map" ? place.uncorrelated : (place.uncorrelated ?? node);
    this.#node(node.items, { ...inner, uncorrelated });
  }

  #rule(rule: Rule, declared: Declared, { count, uncorrelated }: Place): void {
    const { at, program, messageProgram, usesOldSelf, hasOptionalOldSelf } = rule;
    const sizeOf = (path: readonly string[]): number | undefined => sizeAt(declared, path);
    const cost = program.cost(sizeOf) * (count ?? Math.floor(MAX_REQUEST / (declared.minBytes + 1)));
    if (cost > MAX_RULE_COST) this.#report([...at, "rule"], `its estimated cost ${exceeds(cost, MAX_RULE_COST)}`);
    const messageCost = messageProgram?.cost(sizeOf) ?? 0;
    if (messageCost > MAX_RULE_COST) {
      this.#report([...at, "messageExpression"], `its estimated cost ${exceeds(messageCost, MAX_RULE_COST)}`);
    }
    this.#total += cost + messageCost;
    if (usesOldSelf && uncorrelated !== undefined) {
      this.#report([...at, "rule"], "cannot use oldSelf in items of a list that is not of x-kubernetes-list-type map");
    }
    if (!usesOldSelf && hasOptionalOldSelf) {
      this.#report([...at, "optionalOldSelf"], "may not be set if the rule does not use oldSelf");
    }
  }
}

function times(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a * b;
}

/** The most parts of a value of a schema. Undefined without a bound. */
function elementsOf({ type, additional, keywords }: SchemaNode): number | undefined {
  if (type === "array") return bound(keywords["maxItems"]);
  return type === "object" && additional !== undefined ? bound(keywords["maxProperties"]) : 1;
}

function bound(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" || typeof value === "bigint" ? Math.max(0, Number(value)) : undefined;
}

function exceeds(cost: number, limit: number): string {
  const factor = cost / limit;
  const shown = factor > 100 ? "more than 100" : factor < 1.5 ? factor.toFixed(6) : factor.toFixed(1);
  return `exceeds the budget by a factor of ${shown}; simplify the rule, or add maxItems, maxProperties and maxLength to the lists, maps and texts that it reads`;
}

/** Evaluates the rules within each default, with the default as the value before an update, too. */
function checkDefaults(root: SchemaNode, rules: Rules, report: Report): void {
  for (const node of checkedDefaults(root)) {
    const value = applySchemaDefaults(node, node.default as JsonValue);
    // Rules that compare need a value before, and rules with an optional one must hold without it.
    const updated = rules.run(value, value, node);
    for (const { path, message } of updated.length > 0 ? updated : rules.run(value, undefined, node)) {
      report(
        [...node.path, "default"],
        `is not valid for its own rules: ${[path, message].filter(Boolean).join(": ")}`,
      );
    }
  }
}
