import { Float64 } from "@xfn/composition";
import { isObject, type JsonObject, type JsonValue } from "@xfn/functionio";
import { child, list, type Rule } from "../rule.ts";

// What a Kubernetes API server can do with a schema that has properties, and the reference drops at the roots of spec and
// status.
const KEPT = [
  "title",
  "default",
  "example",
  "externalDocs",
  "nullable",
  "enum",
  "minProperties",
  "maxProperties",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-map-type",
];

/** Parts of a schema that the reference drops without a word. */
export const keptSchema: Rule = {
  name: "schema-keywords-kept",
  file: "xrd-crd",
  reason:
    "What an author says at the root of the schemas of spec and status (default, oneOf, x-kubernetes-preserve-unknown-fields, ...) holds in the CRD. The reference drops it silently.",
  applies: (vector) =>
    schemas(vector["xrd"]).some((schema) => ["spec", "status"].some((part) => kept(schema, part).length > 0)),
  outcome: (vector, recorded) => {
    if ("error" in recorded) return recorded;
    const output = copy(recorded.output) as JsonObject;
    const given = schemas(vector["xrd"]);
    for (const [index, version] of list(child(output, "spec")["versions"]).entries()) {
      const properties = child(child(child(version, "schema"), "openAPIV3Schema"), "properties");
      for (const part of ["spec", "status"])
        Object.assign(child(properties, part), Object.fromEntries(kept(given[index] ?? {}, part)));
    }
    return { output };
  },
};

/** What a composite resource has composed within namespaces can be named. */
export const referenceNamespaces: Rule = {
  name: "references-with-namespace",
  file: "xrd-crd",
  reason:
    "The references to composed resources in a composite resource's spec have a namespace. The reference leaves it out, and so cannot find again what it composed in one.",
  applies: (vector) => vector["crd"] === "composite",
  outcome: (vector, recorded) => {
    if ("error" in recorded) return recorded;
    const output = copy(recorded.output) as JsonObject;
    for (const version of list(child(output, "spec")["versions"])) {
      const properties = child(child(child(version, "schema"), "openAPIV3Schema"), "properties");
      const references = child(child(child(properties, "spec"), "properties"), "resourceRefs");
      child(child(references, "items"), "properties")["namespace"] = { type: "string" };
    }
    return { output };
  },
};

function schemas(xrd: unknown): JsonObject[] {
  if (!isObject(xrd)) return [];
  return list(child(xrd, "spec")["versions"]).map((version) => child(child(version, "schema"), "openAPIV3Schema"));
}

function kept(schema: JsonObject, part: string): [string, unknown][] {
  const given = child(child(schema, "properties"), part);
  // An API server leaves out what says nothing.
  return KEPT.filter((keyword) => !saysNothing(keyword, given[keyword])).map((keyword) => [keyword, given[keyword]]);
}

function saysNothing(keyword: string, value: unknown): boolean {
  if (value === undefined || value === null || value === false) return true;
  // Any value is one for these.
  if (keyword === "default" || keyword === "example") return false;
  return value === "" || (Array.isArray(value) && value.length === 0);
}

/** A copy in which numbers are what they were; structuredClone would make plain objects of the boxed ones. */
function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy);
  if (!isObject(value) || value instanceof Float64) return value;
  const result: JsonObject = Object.create(null);
  for (const key of Object.keys(value)) result[key] = copy(value[key]) as JsonValue;
  return result;
}
