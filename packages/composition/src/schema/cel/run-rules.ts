import { type JsonObject, type JsonPath, type JsonValue, MAX_ISSUES } from "@xfn/functionio";
import { isObject, MAX_VALUE_DEPTH } from "../../values/json.ts";
import { canonical, identityOf } from "../structural/equality.ts";
import { formatFieldPath, type SchemaIssue, type SchemaIssueReason } from "../structural/issue.ts";
import { allNodes, type SchemaNode } from "../structural/node.ts";
import type { SchemaFinding } from "../structural/schema-error.ts";
import { compileRules, type Rule } from "./compile-rule.ts";
import { celLibrary } from "./library.ts";
import { Meter } from "./meter.ts";
import { resourceToCel, toCel } from "./to-cel.ts";

/** Runs the rules of a schema on a value that is valid without them. */
export type RunRules = (value: JsonValue, old: JsonValue | undefined) => SchemaIssue[];

/** Compiles all rules of a schema, and reports what is wrong with them. */
export function compileAllRules(root: SchemaNode, report: (finding: SchemaFinding) => void): RunRules {
  const rules = new Map<SchemaNode, readonly Rule[]>();
  const nodes = allNodes(root);
  for (const node of nodes) {
    const compiled = compileRules({ schema: node, resource: node === root || node.embedded }, report);
    if (compiled.length > 0) rules.set(node, compiled);
  }
  if (rules.size === 0) return () => [];
  // Children follow their parents, so walking backwards visits children first.
  const withRules = new Set<SchemaNode>();
  for (const node of nodes.toReversed()) {
    if (rules.has(node) || partsOf(node).some((part) => withRules.has(part))) withRules.add(node);
  }
  return (value, old) => new RuleRun(root, rules, withRules).run(value, old);
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

class RuleRun {
  readonly #root: SchemaNode;
  readonly #rules: ReadonlyMap<SchemaNode, readonly Rule[]>;
  readonly #withRules: ReadonlySet<SchemaNode>;
  readonly #meter: Meter = new Meter();
  readonly #converted: Map<object, unknown> = new Map();
  readonly #path: (string | number)[] = [];
  readonly #issues: SchemaIssue[] = [];
  #stopped = false;

  constructor(root: SchemaNode, rules: ReadonlyMap<SchemaNode, readonly Rule[]>, withRules: ReadonlySet<SchemaNode>) {
    this.#root = root;
    this.#rules = rules;
    this.#withRules = withRules;
  }

  run(value: JsonValue, old: JsonValue | undefined): SchemaIssue[] {
    this.#node(this.#root, value, old);
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

  #toCel(node: SchemaNode, value: JsonValue): unknown {
    const resource = (node === this.#root || node.embedded) && isObject(value);
    return resource ? resourceToCel(node, value, this.#converted) : toCel(node, value, this.#converted);
  }

  #object(node: SchemaNode, value: JsonObject, old: JsonObject | undefined): void {
    // An atomic map is compared as a whole.
    const comparable = node.mapType !== "atomic";
    for (const key of Object.keys(value)) {
      const part = node.properties.get(key) ?? (typeof node.additional === "object" ? node.additional : undefined);
      if (part === undefined) continue;
      const before = comparable && old !== undefined && Object.hasOwn(old, key) ? old[key] : undefined;
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

  #rule(node: SchemaNode, rule: Rule, self: unknown, oldSelf: unknown): void {
    if (this.#stopped) return;
    if (rule.usesOldSelf && oldSelf === undefined && !rule.optionalOldSelf) return;
    const before = rule.optionalOldSelf ? optional(oldSelf) : oldSelf;
    const scope = { self, ...(before !== undefined && { oldSelf: before }) };
    this.#meter.start();
    const outcome = rule.expression.evaluate(scope, this.#meter);
    if (this.#meter.exceeded) {
      const about = this.#meter.exhausted ? "" : ` for rule: ${rule.message ?? rule.text}`;
      this.#add(
        node,
        rule,
        `validation failed due to running out of cost budget, no further validation rules will be run${about}`,
      );
      this.#stopped = true;
    } else if ("failure" in outcome) {
      this.#add(node, rule, `${outcome.failure} evaluating rule: ${rule.message ?? rule.text}`);
    } else if (outcome.value !== true) {
      const computed = this.#computedMessage(rule, scope);
      this.#add(node, rule, computed ?? rule.message ?? `failed rule: ${rule.text}`, computed !== undefined);
    }
  }

  #computedMessage(rule: Rule, scope: { self: unknown; oldSelf?: unknown }): string | undefined {
    const outcome = rule.messageExpression?.evaluate(scope, this.#meter);
    if (outcome !== undefined && "value" in outcome && typeof outcome.value === "string" && !this.#meter.exceeded) {
      const message = outcome.value.trim();
      // Kubernetes uses the expression only if its result is valid, otherwise the fixed message.
      if (message !== "" && message.length <= 5 * 1024 && !message.includes("\n")) return message;
    }
    return undefined;
  }

  #add(node: SchemaNode, rule: Rule, message: string, isComputed = false): void {
    if (this.#issues.length >= MAX_ISSUES) {
      this.#stopped = true;
      return;
    }
    const at: JsonPath = [...this.#path, ...rule.fieldPath];
    const reason = REASONS.get(rule.reason ?? "") ?? "Invalid";
    this.#issues.push({
      path: formatFieldPath(at),
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

function optional(value: unknown): unknown {
  const { Optional } = celLibrary();
  return value === undefined ? Optional.none() : Optional.of(value);
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
