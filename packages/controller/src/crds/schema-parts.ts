import type { JsonObject } from "@xfn/functionio";

// Parts of structural schemas (Kubernetes, "Extend the Kubernetes API with CustomResourceDefinitions").

/** A CEL rule and what is said where it does not hold. */
export type Rule = readonly [rule: string, message: string];

/** A text of at most so many characters: where a rule compares it, the server wants to know what that costs at most. */
export function text(maxLength = 4096, more: JsonObject = {}): JsonObject {
  return { type: "string", maxLength, ...more };
}

/** A text that is not empty. */
export function name(maxLength = 253, more: JsonObject = {}): JsonObject {
  return { type: "string", minLength: 1, maxLength, ...more };
}

export const ANY_TEXT: JsonObject = { type: "string" };
export const FLAG: JsonObject = { type: "boolean" };
export const INTEGER: JsonObject = { type: "integer", format: "int64" };
export const TIME: JsonObject = { type: "string", format: "date-time" };
export const TEXT_MAP: JsonObject = { type: "object", additionalProperties: { type: "string" } };
/** Any object. */
export const ANY_OBJECT: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
/** One of some texts. */
export function choice(...values: readonly string[]): JsonObject {
  return { type: "string", enum: [...values] };
}

/** An object with these fields; of others the server keeps nothing. */
export function object(
  properties: JsonObject,
  required: readonly string[] = [],
  rules: readonly Rule[] = [],
  more: JsonObject = {},
): JsonObject {
  return {
    type: "object",
    ...(required.length > 0 && { required: [...required] }),
    properties,
    ...validations(rules),
    ...more,
  };
}

/** A list. Where rules look at its items, it needs a maximum: the server reckons what they cost at most. */
export function list(
  items: JsonObject,
  maxItems?: number,
  rules: readonly Rule[] = [],
  more: JsonObject = {},
): JsonObject {
  return { type: "array", items, ...(maxItems !== undefined && { maxItems }), ...validations(rules), ...more };
}

function validations(rules: readonly Rule[]): JsonObject {
  if (rules.length === 0) return {};
  return { "x-kubernetes-validations": rules.map(([rule, message]): JsonObject => ({ rule, message })) };
}

/** The conditions of a status. */
export const CONDITIONS: JsonObject = list(
  object(
    {
      type: name(316),
      status: choice("True", "False", "Unknown"),
      reason: text(1024),
      message: ANY_TEXT,
      lastTransitionTime: TIME,
    },
    ["type", "status", "reason", "lastTransitionTime"],
  ),
  undefined,
  [],
  { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] },
);

/** A reference by name. */
export const NAMED: JsonObject = object({ name: name() }, ["name"]);
