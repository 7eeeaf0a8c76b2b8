import { Float64 } from "@xfn/composition";
import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import { child, list, type Rule } from "../rule.ts";

// Keywords that an API server accepts next to `properties`. The reference drops them at the roots of spec and status.
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

/** Keywords that the reference drops silently. */
export const keptSchema: Rule = {
  name: "schema-keywords-kept",
  file: "xrd-crd",
  reason:
    "The CRD retains keywords at the root of the schemas of spec and status, such as default and oneOf. The reference silently drops them.",
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

/** References to composed resources have a namespace. */
export const referenceNamespaces: Rule = {
  name: "references-with-namespace",
  file: "xrd-crd",
  reason:
    "The references of an XR to composed resources have a namespace. The reference omits it, and cannot find namespaced resources again.",
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

/** Composite resources survive their claim, if their policy says so. */
export const reclaimPolicy: Rule = {
  name: "reclaim-policy",
  file: "xrd-crd",
  reason:
    "An XR's spec has a reclaimPolicy, unless the author's schema has that field, and its claimRef has the claim's UID. The reference has neither, and deletes every XR with its claim.",
  applies: (vector) => vector["crd"] === "composite",
  outcome: (vector, recorded) => {
    if ("error" in recorded) return recorded;
    const output = copy(recorded.output) as JsonObject;
    const isAuthors = schemas(vector["xrd"]).some((schema) =>
      Object.hasOwn(child(child(child(schema, "properties"), "spec"), "properties"), "reclaimPolicy"),
    );
    for (const version of list(child(output, "spec")["versions"])) {
      const properties = child(child(child(version, "schema"), "openAPIV3Schema"), "properties");
      const fields = child(child(properties, "spec"), "properties");
      child(child(fields, "claimRef"), "properties")["uid"] = { type: "string" };
      if (!isAuthors) {
        fields["reclaimPolicy"] = {
          description:
            "What happens to this resource when its claim is deleted. A retained resource can be claimed again.",
          type: "string",
          enum: ["Delete", "Retain"],
        };
      }
    }
    return { output };
  },
};

/** The status of XRs has the last request of a reconcile. */
export const reconcileRequests: Rule = {
  name: "reconcile-requests",
  file: "xrd-crd",
  reason:
    "The status of XRs has lastHandledReconcileAt. Crossplane 2.4 sets the field without declaring it, so that an API server drops it.",
  applies: (vector) => vector["crd"] === "composite",
  outcome: (_vector, recorded) => {
    if ("error" in recorded) return recorded;
    const output = copy(recorded.output) as JsonObject;
    for (const version of list(child(output, "spec")["versions"])) {
      const properties = child(child(child(version, "schema"), "openAPIV3Schema"), "properties");
      child(child(properties, "status"), "properties")["lastHandledReconcileAt"] = { type: "string" };
    }
    return { output };
  },
};

/** Conditions have the generation that they observed. */
export const conditionGenerations: Rule = {
  name: "conditions-with-generation",
  file: "xrd-crd",
  reason:
    "The conditions of XRs and claims have observedGeneration, so that clients recognize conditions that are older than the spec.",
  applies: () => true,
  outcome: (_vector, recorded) => {
    if ("error" in recorded) return recorded;
    const output = copy(recorded.output) as JsonObject;
    for (const version of list(child(output, "spec")["versions"])) {
      const properties = child(child(child(version, "schema"), "openAPIV3Schema"), "properties");
      const conditions = child(child(child(properties, "status"), "properties"), "conditions");
      child(child(conditions, "items"), "properties")["observedGeneration"] = { type: "integer", format: "int64" };
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
  // An API server omits empty values.
  return KEPT.filter((keyword) => !saysNothing(keyword, given[keyword])).map((keyword) => [keyword, given[keyword]]);
}

function saysNothing(keyword: string, value: unknown): boolean {
  if (value === undefined || value === null || value === false) return true;
  // Any value counts for these.
  if (keyword === "default" || keyword === "example") return false;
  return value === "" || (Array.isArray(value) && value.length === 0);
}

/** Copies a value with its numbers. structuredClone would convert boxed numbers to plain objects. */
function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy);
  if (!isObject(value) || value instanceof Float64) return value;
  const result: JsonObject = Object.create(null);
  for (const key of Object.keys(value)) result[key] = copy(value[key]) as JsonValue;
  return result;
}
