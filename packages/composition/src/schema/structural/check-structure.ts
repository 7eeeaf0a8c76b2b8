import type { JsonObject, JsonPath, JsonValue } from "@xfn/json";
import { closest } from "../../reader/closest.ts";
import { isObject } from "../../values/json.ts";
import type { SchemaNode } from "./node.ts";
import type { Report } from "./schema-error.ts";

const TYPES: readonly string[] = ["array", "boolean", "integer", "number", "object", "string"];

// Keywords that a structural schema cannot have, with the fix for each.
const FORBIDDEN: ReadonlyMap<string, string> = new Map([
  ["$ref", "write out the schema instead"],
  ["$schema", "leave it out"],
  ["id", "leave it out"],
  ["definitions", "write the schemas out where they are used"],
  ["dependencies", "say it as an x-kubernetes-validations rule"],
  ["patternProperties", "use additionalProperties"],
  ["additionalItems", "use items"],
]);

// Keywords that decide which fields are stored. A schema that only restricts a value cannot have them.
const SHAPING: readonly string[] = [
  "additionalProperties",
  "default",
  "title",
  "description",
  "nullable",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-int-or-string",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-list-type",
  "x-kubernetes-map-type",
  "x-kubernetes-validations",
];

/**
 * Reports why a schema is not structural. An API server rejects a CRD with such a schema:
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
export function checkStructure(root: SchemaNode, report: Report): void {
  if (root.type !== "object" && root.type !== "") {
    report([...root.path, "type"], "must be object at the root");
  }
  checkNode(root, report);
}

function checkNode(node: SchemaNode, report: Report): void {
  const { keywords, path, type } = node;
  const at = (...steps: JsonPath): JsonPath => [...path, ...steps];
  checkType(node, report);
  checkForbidden(node, report);
  if (node.properties.size > 0 && node.additional !== undefined) {
    report(at("additionalProperties"), "cannot be used together with properties");
  }
  if (type === "array" && node.items === undefined && !Array.isArray(keywords["items"])) {
    report(at("items"), "is missing; give the schema of the items");
  }
  if (keywords["x-kubernetes-preserve-unknown-fields"] === false) {
    report(at("x-kubernetes-preserve-unknown-fields"), "is true or not there at all");
  }
  if (node.intOrString && node.preserveUnknown) {
    report(at("x-kubernetes-preserve-unknown-fields"), "cannot be used together with x-kubernetes-int-or-string");
  }
  if (node.embedded && type !== "object") {
    report(at("type"), "must be object where x-kubernetes-embedded-resource is true");
  }
  if (node.embedded && !node.preserveUnknown && node.properties.size === 0) {
    report(at("properties"), "is missing; give it, or x-kubernetes-preserve-unknown-fields");
  }
  checkListType(node, report);
  for (const child of node.properties.values()) checkNode(child, report);
  if (typeof node.additional === "object") checkNode(node.additional, report);
  if (node.items !== undefined) checkNode(node.items, report);
  for (const nested of restrictionsOf(node)) checkRestriction(nested, node, report);
}

/** An API server accepts any type next to x-kubernetes-int-or-string, and ignores it. */
function checkType({ type, path, intOrString, preserveUnknown }: SchemaNode, report: Report): void {
  if (type === "") {
    if (!intOrString && !preserveUnknown) report([...path, "type"], `is missing; give one of ${TYPES.join(", ")}`);
  } else if (!TYPES.includes(type)) {
    // Other languages call the types `int`, `bool` and `str`.
    const meant = TYPES.find((one) => type.length > 2 && one.startsWith(type)) ?? closest(type, TYPES);
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    report([...path, "type"], `${JSON.stringify(type.slice(0, 64))} is not one of ${TYPES.join(", ")}${hint}`);
  }
}

function checkForbidden({ keywords, path }: SchemaNode, report: Report): void {
  for (const keyword of Object.keys(keywords)) {
    const instead = FORBIDDEN.get(keyword);
    if (instead !== undefined) report([...path, keyword], `is not allowed in a CRD; ${instead}`);
  }
  if (keywords["uniqueItems"] === true) {
    report([...path, "uniqueItems"], "is not allowed in a CRD; use x-kubernetes-list-type: set");
  }
  if (Array.isArray(keywords["items"])) {
    report([...path, "items"], "is one schema for all items; a list of schemas is not allowed in a CRD");
  }
}

function checkListType(node: SchemaNode, report: Report): void {
  const { path, type, listType, listKeys, mapType } = node;
  if (listType !== "") {
    if (!["atomic", "set", "map"].includes(listType)) {
      report([...path, "x-kubernetes-list-type"], "is not one of atomic, set, map");
    } else if (type !== "array") report([...path, "x-kubernetes-list-type"], "is for type array only");
  }
  if (listType === "map" && listKeys.length === 0) {
    report([...path, "x-kubernetes-list-map-keys"], "is missing; x-kubernetes-list-type: map needs the keys");
  }
  if (listType !== "map" && listKeys.length > 0) {
    report([...path, "x-kubernetes-list-map-keys"], "is for x-kubernetes-list-type: map only");
  }
  for (const [index, key] of listKeys.entries()) {
    const item = node.items?.properties.get(key);
    if (item === undefined) {
      report([...path, "x-kubernetes-list-map-keys", index], "is not a property of the items");
    } else if (item.default === undefined && node.items?.required.includes(key) !== true) {
      report([...path, "x-kubernetes-list-map-keys", index], "must be required in the items, or have a default there");
    }
  }
  if (mapType !== "" && !["atomic", "granular"].includes(mapType)) {
    report([...path, "x-kubernetes-map-type"], "is not one of atomic, granular");
  }
}

/** The sub-schemas that only restrict a value. */
function restrictionsOf(node: SchemaNode): SchemaNode[] {
  return [...node.allOf, ...node.anyOf, ...node.oneOf, ...(node.not === undefined ? [] : [node.not])];
}

/** @param shape - the schema that declares the fields of the restricted value */
function checkRestriction(node: SchemaNode, shape: SchemaNode, report: Report): void {
  const { keywords, path } = node;
  checkForbidden(node, report);
  // Kubernetes allows `type` only in its idiom for "integer or string".
  if (node.type !== "" && !(shape.intOrString && isIntOrString(node))) {
    report([...path, "type"], "cannot be given here; it stands in the schema around this one");
  }
  for (const keyword of SHAPING) {
    if (keywords[keyword] !== undefined) {
      report([...path, keyword], "cannot be given here; it stands in the schema around this one");
    }
  }
  for (const [name, child] of node.properties) {
    const known = shape.properties.get(name) ?? (typeof shape.additional === "object" ? shape.additional : undefined);
    if (known !== undefined) checkRestriction(child, known, report);
    else if (!shape.preserveUnknown) {
      report(child.path, "is not a property of the schema around this one; add it there");
    }
  }
  if (node.items !== undefined) {
    if (shape.items !== undefined) checkRestriction(node.items, shape.items, report);
    else report(node.items.path, "restricts items that the schema around this one does not have");
  }
  for (const nested of restrictionsOf(node)) checkRestriction(nested, shape, report);
}

function isIntOrString({ keywords }: { keywords: JsonObject }): boolean {
  const rest: [string, JsonValue][] = Object.entries(keywords);
  return isObject(keywords) && rest.length === 1 && (keywords["type"] === "integer" || keywords["type"] === "string");
}
