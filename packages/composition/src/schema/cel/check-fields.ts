import { closest } from "../../reader/closest.ts";
import type { SchemaNode } from "../structural/node.ts";
import type { Node } from "./syntax.ts";
import { celName, isReserved } from "./to-cel.ts";

/** The schema of a value in an expression, and whether the value is a whole resource. */
export interface Known {
  readonly schema: SchemaNode;
  readonly resource: boolean;
}

/** The schemas of variables, by name. Undefined: not known. */
export type Variables = ReadonlyMap<string, Known | undefined>;

const RESOURCE_FIELDS: readonly string[] = ["apiVersion", "kind", "metadata"];

/**
 * Reports fields that an expression reads, but the schema of its variable does not declare. An API server rejects a CRD
 * with such a rule. The library does not know these schemas.
 */
export function undefinedFields(root: Node, variables: Variables): string[] {
  const problems: string[] = [];
  knownOf(root, variables, problems);
  return problems;
}

function knownOf(node: Node, variables: Variables, problems: string[]): Known | undefined {
  const { op, args, meta } = node;
  if (meta.alternate !== undefined) return knownOf(meta.alternate, variables, problems);
  if (op === "comprehension") return ofComprehension(args, variables, problems);
  if (op === "id") return variables.get(String(args));
  if (!Array.isArray(args)) {
    if (isNode(args)) knownOf(args, variables, problems);
    return undefined;
  }
  const parts: readonly unknown[] = args;
  if (op === "." || op === ".?") {
    const [left, field] = parts;
    const known = isNode(left) ? knownOf(left, variables, problems) : undefined;
    return known && typeof field === "string" ? fieldOf(known, field, problems) : undefined;
  }
  const inner = parts.flat(2).map((part) => (isNode(part) ? knownOf(part, variables, problems) : undefined));
  if (op !== "[]" && op !== "[?]") return undefined;
  const list = inner[0]?.schema;
  return partOf(list?.items ?? (typeof list?.additional === "object" ? list.additional : undefined));
}

/** Macros such as `all` and `map`: the variable is an item of a list, or a key of a map. */
function ofComprehension(args: unknown, variables: Variables, problems: string[]): undefined {
  if (typeof args !== "object" || args === null) return undefined;
  const { iterable, iterVarName, init, step } = args as Record<string, unknown>;
  const range = isNode(iterable) ? knownOf(iterable, variables, problems) : undefined;
  const inner = new Map(variables).set(String(iterVarName), partOf(range?.schema.items));
  if (isNode(init)) knownOf(init, variables, problems);
  if (isNode(step)) knownOf(step, inner, problems);
  return undefined;
}

function fieldOf({ schema, resource }: Known, field: string, problems: string[]): Known | undefined {
  for (const [name, property] of schema.properties) {
    if (celName(name) !== field && !(name === field && isReserved(name))) continue;
    // Rules can read only two fields of the metadata, whatever the schema declares.
    return resource && name === "metadata" ? undefined : partOf(property);
  }
  if (resource && RESOURCE_FIELDS.includes(field)) return undefined;
  if (typeof schema.additional === "object") return partOf(schema.additional);
  // Without properties it is open, or no object, which the library checks.
  if (schema.properties.size === 0 || schema.additional !== undefined) return undefined;
  const meant = closest(field, [...schema.properties.keys(), ...(resource ? RESOURCE_FIELDS : [])]);
  problems.push(`undefined field '${field.slice(0, 64)}'${meant === undefined ? "" : `; did you mean ${meant}?`}`);
  return undefined;
}

function partOf(schema: SchemaNode | undefined): Known | undefined {
  return schema && { schema, resource: schema.embedded };
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "op" in value && "args" in value && "meta" in value;
}
