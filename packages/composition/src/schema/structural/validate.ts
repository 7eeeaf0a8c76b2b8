import { type JsonObject, type JsonPath, type JsonValue, MAX_ISSUES } from "@xfn/json";
import type { RE2JS } from "re2js";
import { parseRegexp } from "../../transform/text/parse-regexp.ts";
import { codePoints } from "../../values/code-points.ts";
import { printGoJson } from "../../values/go-json.ts";
import { Float64 } from "../../values/go-value.ts";
import { isObject, MAX_VALUE_DEPTH } from "../../values/json.ts";
import { duplicatesOf, identityOf, sameJson } from "./equality.ts";
import { formatCheck } from "./formats.ts";
import { formatFieldPath, formatKeyedPath, type SchemaIssue, type SchemaIssueReason } from "./issue.ts";
import { allNodes, type SchemaNode } from "./node.ts";
import { isMultipleOf, isNumber, typeName } from "./numbers.ts";
import type { Report } from "./schema-error.ts";

/**
 * The most checks of a value against a schema, about a second. The largest CRDs have ten thousand schemas, and most of
 * them apply to one value. Only hostile schemas, with thousands of alternatives for thousands of items, need more.
 */
export const MAX_VALIDATION_STEPS = 2_000_000;

/** Validates values against a schema, or a part of it, without CEL rules. */
export type Validate = (value: JsonValue, part?: SchemaNode) => SchemaIssue[];

/** Compiles a schema's checks. Reports invalid patterns, which match nothing. */
export function compileValidation(root: SchemaNode, report: Report): Validate {
  const patterns = new Map<SchemaNode, RE2JS>();
  for (const node of allNodes(root)) {
    const { pattern } = node.keywords;
    if (typeof pattern !== "string") continue;
    const regexp = parseRegexp(pattern);
    if (!("reason" in regexp)) patterns.set(node, regexp);
    else report([...node.path, "pattern"], "is not a regular expression of RE2 (Go's syntax)");
  }
  return (value, part = root) => new Validation(patterns).run(part, value);
}

/** One walk of a value along its schema. */
class Validation {
  readonly #patterns: ReadonlyMap<SchemaNode, RE2JS>;
  readonly #path: (string | number)[] = [];
  #issues: SchemaIssue[] = [];
  // All failures so far, even beyond the bound on issues. It shows whether an alternative failed.
  #failures = 0;
  // An estimate of the passed checks, counted like Kubernetes. If all alternatives fail, the one with the most is
  // reported.
  #passed = 0;
  #steps = 0;
  #root: SchemaNode | undefined;

  constructor(patterns: ReadonlyMap<SchemaNode, RE2JS>) {
    this.#patterns = patterns;
  }

  run(root: SchemaNode, value: JsonValue): SchemaIssue[] {
    this.#root = root;
    this.#node(root, value);
    if (this.#steps > MAX_VALIDATION_STEPS) {
      const message = "takes too long to validate: its schema has too many alternatives for a value of this size";
      return [{ path: "", at: [], reason: "Invalid", message }];
    }
    return this.#issues;
  }

  #node(node: SchemaNode, value: JsonValue): void {
    if (++this.#steps > MAX_VALIDATION_STEPS) return;
    if (this.#path.length > MAX_VALUE_DEPTH) {
      this.#add("Invalid", `is nested deeper than ${MAX_VALUE_DEPTH} levels`);
      return;
    }
    this.#type(node, value);
    if (value === null) {
      this.#enum(node, value);
      return;
    }
    this.#combined(node, value);
    if (typeof value === "string") this.#string(node, value);
    else if (isNumber(value)) this.#number(node, value);
    else if (Array.isArray(value)) this.#list(node, value);
    this.#enum(node, value);
    if (isObject(value)) this.#object(node, value);
    this.#passed++;
  }

  #type(node: SchemaNode, value: JsonValue): void {
    const expected = node.intOrString ? "integer,string" : node.type;
    const found = typeName(value);
    if (expected === "") {
      // A format counts as a type if a sub-schema (`anyOf`) declares no other.
      const { format } = node;
      if (value === null || formatCheck(format) === undefined) return;
      this.#passed++;
      if (found === "string" || found === "array") this.#passed++;
      else this.#fail("Type", `must be of type ${format}`, found);
      return;
    }
    const fits =
      found === expected ||
      (value === null && node.nullable) ||
      (expected === "number" && found === "integer") ||
      (node.intOrString && (found === "integer" || found === "string"));
    this.#passed++;
    if (fits) this.#passed++;
    else this.#fail("Type", `must be of type ${expected}`, found);
  }

  #combined(node: SchemaNode, value: JsonValue): void {
    if (node.anyOf.length > 0) this.#anyOf(node.anyOf, value);
    if (node.oneOf.length > 0) this.#oneOf(node.oneOf, value);
    if (node.allOf.length > 0) {
      const valid = node.allOf.filter((one) => {
        const before = this.#failures;
        this.#node(one, value);
        return this.#failures === before;
      }).length;
      if (valid < node.allOf.length) {
        this.#quoted(`must validate all the schemas (allOf)${valid === 0 ? ". None validated" : ""}`);
      }
    }
    if (node.not !== undefined) {
      const branch = this.#branch(node.not, value);
      if (branch.valid) this.#quoted("must not validate the schema (not)");
    }
    this.#passed++;
  }

  #anyOf(alternatives: readonly SchemaNode[], value: JsonValue): void {
    let best: Branch | undefined;
    for (const alternative of alternatives) {
      const branch = this.#branch(alternative, value);
      if (branch.valid) {
        this.#passed += branch.passed;
        return;
      }
      if (best === undefined || branch.passed > best.passed) best = branch;
    }
    this.#quoted("must validate at least one schema (anyOf)");
    this.#adopt(best);
  }

  #oneOf(alternatives: readonly SchemaNode[], value: JsonValue): void {
    let best: Branch | undefined;
    let first: Branch | undefined;
    let valid = 0;
    for (const alternative of alternatives) {
      const branch = this.#branch(alternative, value);
      if (branch.valid) {
        valid++;
        first ??= branch;
      } else if (best === undefined || branch.passed > best.passed) best = branch;
    }
    if (valid === 1) {
      this.#passed += first?.passed ?? 0;
      return;
    }
    const found = valid === 0 ? "Found none valid" : `Found ${valid} valid alternatives`;
    this.#quoted(`must validate one and only one schema (oneOf). ${found}`);
    if (valid === 0) this.#adopt(best);
  }

  /** Checks an alternative without reporting its issues. */
  #branch(node: SchemaNode, value: JsonValue): Branch {
    const [issues, failures, passed] = [this.#issues, this.#failures, this.#passed];
    this.#issues = [];
    this.#node(node, value);
    const branch = {
      valid: this.#failures === failures,
      issues: this.#issues,
      failures: this.#failures - failures,
      passed: this.#passed - passed,
    };
    [this.#issues, this.#failures, this.#passed] = [issues, failures, passed];
    return branch;
  }

  #adopt(branch: Branch | undefined): void {
    if (branch === undefined) return;
    this.#failures += branch.failures;
    this.#passed += branch.passed;
    for (const issue of branch.issues) if (this.#issues.length < MAX_ISSUES) this.#issues.push(issue);
  }

  #string(node: SchemaNode, value: string): void {
    const { maxLength, minLength, pattern } = node.keywords;
    this.#passed++;
    if (isNumber(maxLength) || isNumber(minLength)) {
      const length = codePoints(value);
      if (isNumber(maxLength) && length > maxLength) this.#add("TooLong", `may not be longer than ${maxLength}`);
      if (isNumber(minLength) && length < minLength) {
        this.#fail("Invalid", `should be at least ${minLength} chars long`, value);
      }
    }
    if (typeof pattern === "string" && this.#patterns.get(node)?.test(value) !== true) {
      this.#fail("Invalid", `should match '${pattern}'`, value);
    }
    const inFormat = formatCheck(node.format)?.(value);
    if (inFormat !== undefined) this.#passed++;
    if (inFormat === false) this.#fail("Format", `must be of type ${node.format}`, value);
  }

  #number(node: SchemaNode, value: number | bigint): void {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = node.keywords;
    this.#passed++;
    const bound = plain(minimum);
    if (bound !== undefined && (exclusiveMinimum === true ? value <= bound : value < bound)) {
      const relation = exclusiveMinimum === true ? "greater than" : "greater than or equal to";
      this.#fail("Invalid", `should be ${relation} ${bound}`, value);
    }
    const top = plain(maximum);
    if (top !== undefined && (exclusiveMaximum === true ? value >= top : value > top)) {
      const relation = exclusiveMaximum === true ? "less than" : "less than or equal to";
      this.#fail("Invalid", `should be ${relation} ${top}`, value);
    }
    const factor = plain(multipleOf);
    if (factor !== undefined && !isMultipleOf(value, factor)) {
      this.#fail("Invalid", `should be a multiple of ${factor}`, value);
    }
  }

  #list(node: SchemaNode, value: readonly JsonValue[]): void {
    const { maxItems, minItems, uniqueItems } = node.keywords;
    this.#passed++;
    if (node.items !== undefined) {
      for (const [index, item] of value.entries()) {
        this.#path.push(index);
        this.#node(node.items, item);
        this.#path.pop();
        if (this.#steps > MAX_VALIDATION_STEPS) return;
      }
    }
    if (isNumber(minItems) && value.length < minItems) {
      this.#fail("Invalid", `should have at least ${minItems} items`, value.length);
    }
    if (isNumber(maxItems) && value.length > maxItems) {
      this.#add("TooMany", `must have at most ${maxItems} items`, value.length);
    }
    if (uniqueItems === true && duplicatesOf(value).length > 0) {
      this.#fail("Invalid", "shouldn't contain duplicates");
    }
    this.#keyed(node, value);
  }

  /** x-kubernetes-list-type: the items of a set must differ, and the items of a map must differ in their keys. */
  #keyed(node: SchemaNode, value: readonly JsonValue[]): void {
    const { listType: type, listKeys: keys } = node;
    if (type !== "set" && type !== "map") return;
    // Items of another type, which are reported already, have no keys.
    if (type === "map" && !value.every((item) => item === null || isObject(item))) return;
    const identities = type === "set" ? value : value.map((item) => identityOf(item, keys));
    for (const index of duplicatesOf(identities)) {
      this.#path.push(index);
      this.#add("Duplicate", "", identities[index]);
      this.#path.pop();
    }
  }

  #enum(node: SchemaNode, value: JsonValue): void {
    const choices = node.keywords["enum"];
    if (!Array.isArray(choices)) return;
    if (!choices.some((choice) => sameJson(choice, value))) {
      const texts = choices.map((choice) => JSON.stringify(typeof choice === "string" ? choice : printGoJson(choice)));
      this.#add("Unsupported", `supported values: ${texts.join(", ").slice(0, 1000)}`, value);
    }
  }

  #object(node: SchemaNode, value: JsonObject): void {
    const { minProperties, maxProperties } = node.keywords;
    const names = Object.keys(value);
    this.#passed++;
    if (isNumber(minProperties) && names.length < minProperties) {
      this.#fail("Invalid", `should have at least ${minProperties} properties`, names.length);
      return;
    }
    if (isNumber(maxProperties) && names.length > maxProperties) {
      this.#add("TooMany", `must have at most ${maxProperties} items`, names.length);
      return;
    }
    for (const name of names) {
      const property = node.properties.get(name);
      if (property === undefined && node.additional === false) {
        this.#path.push(name);
        this.#fail("Invalid", "is a forbidden property");
        this.#path.pop();
        continue;
      }
      const schema = property ?? (typeof node.additional === "object" ? node.additional : undefined);
      if (schema === undefined) continue;
      this.#path.push(name);
      this.#node(schema, value[name] as JsonValue);
      this.#path.pop();
      if (this.#steps > MAX_VALIDATION_STEPS) return;
    }
    for (const name of node.required) if (!Object.hasOwn(value, name)) this.#addBelow(name, "Required", "");
    if (node.embedded) this.#embedded(value);
  }

  /** An embedded resource must have an apiVersion and a kind. */
  #embedded(value: JsonObject): void {
    for (const field of ["apiVersion", "kind"]) {
      const text = Object.hasOwn(value, field) ? value[field] : undefined;
      if (text === undefined || text === "") this.#addBelow(field, "Required", "must not be empty");
      else if (typeof text !== "string") this.#addBelow(field, "Type", "must be of type string", typeName(text));
    }
    const metadata = Object.hasOwn(value, "metadata") ? value["metadata"] : undefined;
    if (metadata !== undefined && !isObject(metadata)) {
      this.#addBelow("metadata", "Type", "must be of type object", typeName(metadata));
    }
  }

  #addBelow(field: string, reason: SchemaIssueReason, message: string, value?: JsonValue): void {
    this.#path.push(field);
    this.#add(reason, message, value);
    this.#path.pop();
  }

  /** Reports a failure whose message begins with the field. */
  #fail(reason: SchemaIssueReason, message: string, value?: JsonValue): void {
    const field = formatFieldPath(this.#path);
    this.#add(reason, field === "" ? message : `${field} in body ${message}`, value);
  }

  #quoted(message: string): void {
    this.#add("Invalid", `"${formatFieldPath(this.#path)}" ${message}`);
  }

  #add(reason: SchemaIssueReason, message: string, value?: JsonValue): void {
    this.#failures++;
    if (this.#issues.length >= MAX_ISSUES) return;
    const at: JsonPath = [...this.#path];
    const root = reason === "Duplicate" ? this.#root : undefined;
    const path = root === undefined ? formatFieldPath(at) : formatKeyedPath(root, at);
    this.#issues.push({ path, at, reason, message, ...(value !== undefined && { value }) });
  }
}

interface Branch {
  readonly valid: boolean;
  readonly issues: readonly SchemaIssue[];
  readonly failures: number;
  readonly passed: number;
}

function plain(value: JsonValue | Float64 | undefined): number | bigint | undefined {
  if (value instanceof Float64) return value.value;
  return isNumber(value) ? value : undefined;
}
