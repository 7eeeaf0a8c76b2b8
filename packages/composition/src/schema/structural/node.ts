import { type JsonObject, type JsonPath, type JsonValue, newObject } from "@xfn/json";
import { isObject } from "../../values/json.ts";
import { schemaProps } from "./json-schema-props.ts";
import { Findings, SchemaError } from "./schema-error.ts";

/**
 * A schema prepared for walking values along it. Its keywords have the right types. {@link checkStructure} checks
 * whether it is structural.
 */
export interface SchemaNode {
  /** All keywords, in the API server's form. */
  readonly keywords: JsonObject;
  /** The path of the schema in the whole schema, for messages. */
  readonly path: JsonPath;
  /** "" if absent. */
  readonly type: string;
  /** "" if absent. */
  readonly format: string;
  /** x-kubernetes-list-type; "" if absent. */
  readonly listType: string;
  /** x-kubernetes-list-map-keys. */
  readonly listKeys: readonly string[];
  /** x-kubernetes-map-type; "" if absent. */
  readonly mapType: string;
  readonly nullable: boolean;
  readonly intOrString: boolean;
  readonly preserveUnknown: boolean;
  readonly embedded: boolean;
  /** Undefined if absent, never null. */
  readonly default: JsonValue | undefined;
  readonly required: readonly string[];
  readonly properties: ReadonlyMap<string, SchemaNode>;
  /** The schema of other keys, or `true` or `false`. */
  readonly additional: SchemaNode | boolean | undefined;
  readonly items: SchemaNode | undefined;
  readonly allOf: readonly SchemaNode[];
  readonly anyOf: readonly SchemaNode[];
  readonly oneOf: readonly SchemaNode[];
  readonly not: SchemaNode | undefined;
}

/**
 * Reads an `openAPIV3Schema`.
 *
 * @param at - the path of the schema, for messages
 * @throws {SchemaError} with every keyword that has a value of the wrong type
 */
export function readSchema(schema: JsonValue, at: JsonPath = []): SchemaNode {
  const findings = new Findings();
  if (!isObject(schema)) findings.report(at, "expected a schema");
  const problem = sizeProblem(schema);
  if (problem !== undefined) findings.report(at, problem);
  const decoded = findings.all.length > 0 ? undefined : schemaProps(schema, at, { wrong: findings.report });
  findings.throwIfAny();
  if (!isObject(decoded)) throw new SchemaError([]);
  return nodeOf(decoded, at);
}

/**
 * The most objects within a schema: ten times those of the largest CRDs in use. An API server's limit is the size of a
 * request, 3 MiB, which leaves room for schemas that take a minute to check.
 */
const MAX_SCHEMA_PARTS = 100_000;

/** The problem of a schema that is too large to be checked. Counts its objects without recursion. */
export function sizeProblem(schema: JsonValue): string | undefined {
  const open: JsonValue[] = [schema];
  let parts = 0;
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== "object" || value === null) continue;
    if (++parts > MAX_SCHEMA_PARTS) return `is a schema with more than ${MAX_SCHEMA_PARTS} parts`;
    for (const part of Array.isArray(value) ? value : Object.values(value)) open.push(part);
  }
  return undefined;
}

/** Creates the node of a schema in the API server's form. */
export function nodeOf(keywords: JsonObject, path: JsonPath): SchemaNode {
  const { items, not, additionalProperties, properties } = keywords;
  const child = (value: JsonValue | undefined, ...steps: JsonPath): SchemaNode | undefined =>
    isObject(value) ? nodeOf(value, [...path, ...steps]) : undefined;
  const children = (keyword: string): SchemaNode[] => {
    const list = keywords[keyword];
    if (!Array.isArray(list)) return [];
    return list.map((one, index) => nodeOf(isObject(one) ? one : newObject(), [...path, keyword, index]));
  };
  const named = new Map<string, SchemaNode>();
  for (const name of Object.keys(isObject(properties) ? properties : {})) {
    const node = child((properties as JsonObject)[name], "properties", name);
    if (node !== undefined) named.set(name, node);
  }
  return {
    keywords,
    path,
    type: text(keywords["type"]),
    format: text(keywords["format"]),
    listType: text(keywords["x-kubernetes-list-type"]),
    listKeys: (keywords["x-kubernetes-list-map-keys"] ?? []) as string[],
    mapType: text(keywords["x-kubernetes-map-type"]),
    nullable: keywords["nullable"] === true,
    intOrString: keywords["x-kubernetes-int-or-string"] === true,
    preserveUnknown: keywords["x-kubernetes-preserve-unknown-fields"] === true,
    embedded: keywords["x-kubernetes-embedded-resource"] === true,
    default: keywords["default"],
    required: (keywords["required"] ?? []) as string[],
    properties: named,
    additional:
      typeof additionalProperties === "boolean"
        ? additionalProperties
        : child(additionalProperties, "additionalProperties"),
    items: child(items, "items"),
    allOf: children("allOf"),
    anyOf: children("anyOf"),
    oneOf: children("oneOf"),
    not: child(not, "not"),
  };
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** The schema of a field of an object. Undefined if there is none. */
export function nodeOfField(node: SchemaNode, field: string): SchemaNode | undefined {
  const property = node.properties.get(field);
  if (property !== undefined) return property;
  return typeof node.additional === "object" ? node.additional : undefined;
}

/** Visits a schema and all schemas in it, without recursion. */
export function allNodes(root: SchemaNode): SchemaNode[] {
  const nodes = [root];
  for (let next = 0; next < nodes.length; next++) {
    const node = nodes[next] as SchemaNode;
    for (const child of node.properties.values()) nodes.push(child);
    for (const child of [node.additional, node.items, node.not]) if (typeof child === "object") nodes.push(child);
    for (const child of [...node.allOf, ...node.anyOf, ...node.oneOf]) nodes.push(child);
  }
  return nodes;
}
