import { type JsonObject, type JsonPath, type JsonValue, MAX_ISSUES } from "@xfn/json";
import { Budget } from "../../cel/evaluate/budget.ts";
import { Optional, type Value } from "../../cel/values/value.ts";
import { isObject, MAX_VALUE_DEPTH } from "../../values/json.ts";
import { canonical, identityOf } from "../structural/equality.ts";
import { formatKeyedPath, type SchemaIssue, type SchemaIssueReason } from "../structural/issue.ts";
import { allNodes, type SchemaNode } from "../structural/node.ts";
import type { Report } from "../structural/schema-error.ts";
import { compileRules, type Rule } from "./compile-rule.ts";
import { type Declared, declarations } from "./declare.ts";
import { resourceToCel, toCel } from "./to-cel.ts";

/** The compiled rules of a schema. */
export interface Rules {
  /** Runs the rules on a value of the schema, or of a part of it, that is valid without them. */
  run(value: JsonValue, old: JsonValue | undefined, part?: SchemaNode): SchemaIssue[];
  /** The rules of a part of the schema. */
  of(node: SchemaNode): readonly Rule[];
  /** The type of a part of the schema in expressions. */
  declared(node: SchemaNode): Declared | undefined;
}

/** Compiles all rules of the schema of a resource. Reports and skips wrong rules. */
export function compileAllRules(root: SchemaNode, report: Report): Rules {
  const rules = new Map<SchemaNode, readonly Rule[]>();
  const nodes = allNodes(root);
  const declare = declarations();
  const declared = (node: SchemaNode): Declared | undefined => declare(node, node === root || node.embedded);
  for (const node of nodes) {
    if (!Array.isArray(node.keywords["x-kubernetes-validations"])) continue;
    const compiled = compileRules(node, declared(node), report);
    if (compiled.length > 0) rules.set(node, compiled);
  }
  const of = (node: SchemaNode): readonly Rule[] => rules.get(node) ?? [];
  if (rules.size === 0) return { of, declared, run: () => [] };
  // Children follow their parents, so walking backwards visits children first.
  const withRules = new Set<SchemaNode>();
  for (const node of nodes.toReversed()) {
    if (rules.has(node) || partsOf(node).some((part) => withRules.has(part))) withRules.add(node);
  }
  const compiled = { root, rules, withRules };
  return { of, declared, run: (value, old, part = root) => new RuleRun(compiled, part).run(value, old) };
}

/** The schemas of a value's parts. Schemas that only restrict a value have no rules. */
function partsOf(node: SchemaNode): SchemaNode[] {
  const parts = [...node.properties.values()];
  if (typeof node.additional === "object") parts.push(node.additional);
  if (node.items !== undefined) parts.push(node.items);
  return parts;
}

const REASONS: ReadonlyMap<string, SchemaIssueReason> = new Map([
  ["FieldValueRequired", "Required"],
  ["FieldValueDuplicate", "Duplicate"],
  ["FieldValueForbidden", "Forbidden"],
]);

interface CompiledRules {
  readonly root: SchemaNode;
  readonly rules: ReadonlyMap<SchemaNode, readonly Rule[]>;
  /** The schemas that have rules, or have parts with rules. */
  readonly withRules: ReadonlySet<SchemaNode>;
}

class RuleRun {
  readonly #start: SchemaNode;
  readonly #root: SchemaNode;
  readonly #rules: ReadonlyMap<SchemaNode, readonly Rule[]>;
  readonly #withRules: ReadonlySet<SchemaNode>;
  readonly #budget: Budget = new Budget();
  readonly #converted: Map<object, Value> = new Map();
  readonly #path: (string | number)[] = [];
  readonly #issues: SchemaIssue[] = [];
  #stopped = false;

  constructor({ root, rules, withRules }: CompiledRules, start: SchemaNode) {
    this.#start = start;
    this.#root = root;
    this.#rules = rules;
    this.#withRules = withRules;
  }

  run(value: JsonValue, old: JsonValue | undefined): SchemaIssue[] {
    this.#node(this.#start, value, old);
    return this.#issues;
  }

  #node(node: SchemaNode, value: JsonValue, old: JsonValue | undefined): void {
    if (this.#stopped || value === null || !this.#withRules.has(node) || this.#path.length > MAX_VALUE_DEPTH) return;
    const rules = this.#rules.get(node) ?? [];
    if (rules.length > 0) {
      const self = this.#toCel(node, value);
      const oldSelf = old === undefined || old === null ? undefined : this.#toCel(node, old);
      for (const rule of rules) this.#rule(node, rule, self, oldSelf);
    }
    if (Array.isArray(value)) this.#list(node, value, Array.isArray(old) ? old : undefined);
    else if (isObject(value)) this.#object(node, value, isObject(old) ? old : undefined);
  }

  #toCel(node: SchemaNode, value: JsonValue): Value {
    const resource = (node === this.#root || node.embedded) && isObject(value);
    return resource ? resourceToCel(node, value, this.#converted) : toCel(node, value, this.#converted);
  }

  #object(node: SchemaNode, value: JsonObject, old: JsonObject | undefined): void {
    for (const key of Object.keys(value)) {
      const part = node.properties.get(key) ?? (typeof node.additional === "object" ? node.additional : undefined);
      if (part === undefined) continue;
      const before = old !== undefined && Object.hasOwn(old, key) ? old[key] : undefined;
      this.#path.push(key);
      this.#node(part, value[key] as JsonValue, before);
      this.#path.pop();
    }
  }

  #list(node: SchemaNode, value: readonly JsonValue[], old: readonly JsonValue[] | undefined): void {
    if (node.items === undefined || !this.#withRules.has(node.items)) return;
    const before = counterparts(node, old);
    for (const [index, item] of value.entries()) {
      this.#path.push(index);
      this.#node(node.items, item, before(item));
      this.#path.pop();
      if (this.#stopped) return;
    }
  }

  #rule(node: SchemaNode, rule: Rule, self: Value, oldSelf: Value | undefined): void {
    if (this.#stopped) return;
    if (rule.usesOldSelf && oldSelf === undefined && !rule.optionalOldSelf) return;
    const values = { self, oldSelf: rule.optionalOldSelf ? new Optional(oldSelf) : oldSelf };
    const outcome = rule.program.evaluate(values, this.#budget);
    if (outcome === undefined) {
      const about = this.#budget.exhausted ? "" : ` for rule: ${rule.message ?? rule.text}`;
      const message = "validation failed due to running out of cost budget, no further validation rules will be run";
      this.#addInvalid(node, rule, `${message}${about}`);
      this.#stopped = true;
    } else if ("failure" in outcome) {
      this.#addInvalid(node, rule, `${outcome.failure} evaluating rule: ${rule.message ?? rule.text}`);
    } else if (outcome.value !== true) {
      const computed = this.#computedMessage(rule, values);
      this.#add(node, rule, computed ?? rule.message ?? `failed rule: ${rule.text}`, computed !== undefined);
    }
  }

  #computedMessage(rule: Rule, values: Readonly<Record<string, Value | undefined>>): string | undefined {
    const outcome = rule.messageProgram?.evaluate(values, this.#budget);
    if (outcome !== undefined && "value" in outcome && typeof outcome.value === "string") {
      const message = outcome.value.trim();
      // Kubernetes uses the expression only if its result is valid, otherwise the fixed message.
      if (message !== "" && message.length <= 5 * 1024 && !message.includes("\n")) return message;
    }
    return undefined;
  }

  /** Adds the issue of a rule without a result, and ignores the rule's reason and field path. */
  #addInvalid(node: SchemaNode, rule: Rule, message: string): void {
    this.#add(node, { ...rule, fieldPath: [], reason: undefined }, message);
  }

  #add(node: SchemaNode, rule: Rule, message: string, isComputed = false): void {
    if (this.#issues.length >= MAX_ISSUES) {
      this.#stopped = true;
      return;
    }
    const at: JsonPath = [...this.#path, ...rule.fieldPath];
    const reason = REASONS.get(rule.reason ?? "") ?? "Invalid";
    this.#issues.push({
      // Kubernetes joins both parts with a dot, even before a bracket.
      path: [formatKeyedPath(this.#start, this.#path), formatKeyedPath(node, rule.fieldPath)]
        .filter((part) => part !== "")
        .join("."),
      at,
      reason,
      message,
      rule: rule.text,
      ...(isComputed && { isComputed }),
      // Kubernetes shows the type of the invalid value.
      ...(reason !== "Required" && { value: node.type }),
    });
  }
}

/** Finds an item in the old list: by its keys in a list of type map. Items of other lists have no identity. */
function counterparts(
  node: SchemaNode,
  old: readonly JsonValue[] | undefined,
): (item: JsonValue) => JsonValue | undefined {
  if (old === undefined || node.listType !== "map") return () => undefined;
  const identity = (item: JsonValue): string => canonical(identityOf(item, node.listKeys));
  const byIdentity = new Map(old.map((item) => [identity(item), item]));
  return (item) => byIdentity.get(identity(item));
}
