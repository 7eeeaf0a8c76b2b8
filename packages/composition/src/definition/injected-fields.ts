import type { JsonObject } from "@xfn/functionio";

// The fields that Crossplane v1.13 injects into the schemas of XRs and claims.

const TEXT: JsonObject = { type: "string" };
const TEXT_MAP: JsonObject = { type: "object", additionalProperties: TEXT };
const TIME: JsonObject = { type: "string", format: "date-time" };

/** An object of string fields. */
function texts(names: readonly string[], required: readonly string[]): JsonObject {
  return {
    type: "object",
    ...(required.length > 0 && { required: [...required] }),
    properties: Object.fromEntries(names.map((name) => [name, TEXT])),
  };
}

function choice(...values: string[]): JsonObject {
  return { type: "string", enum: values };
}

const NAME = texts(["name"], ["name"]);
const SELECTOR: JsonObject = { type: "object", required: ["matchLabels"], properties: { matchLabels: TEXT_MAP } };
const OBJECT_REFERENCES: JsonObject = {
  type: "array",
  items: texts(["apiVersion", "name", "kind"], ["apiVersion", "kind"]),
};

/**
 * The composed resources of an XR. Crossplane v1.13 has no namespace here, so it cannot find namespaced ones again.
 */
const RESOURCE_REFERENCES: JsonObject = {
  type: "array",
  items: texts(["apiVersion", "name", "namespace", "kind"], ["apiVersion", "kind"]),
};

// The Composition of the XR, and where connection details are written beside the Secret.
const SHARED: JsonObject = {
  compositionRef: NAME,
  compositionSelector: SELECTOR,
  compositionRevisionRef: NAME,
  compositionRevisionSelector: SELECTOR,
  compositionUpdatePolicy: choice("Automatic", "Manual"),
  publishConnectionDetailsTo: {
    type: "object",
    required: ["name"],
    properties: {
      name: TEXT,
      configRef: { ...texts(["name"], []), default: { name: "default" } },
      metadata: { type: "object", properties: { labels: TEXT_MAP, annotations: TEXT_MAP, type: TEXT } },
    },
  },
};

/** The fields of every composite resource's spec. */
export const COMPOSITE_SPEC_FIELDS: Readonly<JsonObject> = {
  ...SHARED,
  claimRef: texts(["apiVersion", "kind", "namespace", "name"], ["apiVersion", "kind", "namespace", "name"]),
  environmentConfigRefs: OBJECT_REFERENCES,
  resourceRefs: RESOURCE_REFERENCES,
  writeConnectionSecretToRef: texts(["name", "namespace"], ["name", "namespace"]),
};

/** The fields of every claim's spec. */
export const CLAIM_SPEC_FIELDS: Readonly<JsonObject> = {
  ...SHARED,
  compositeDeletePolicy: choice("Background", "Foreground"),
  resourceRef: texts(["apiVersion", "kind", "name"], ["apiVersion", "kind", "name"]),
  writeConnectionSecretToRef: NAME,
};

/** The fields of the status of both. */
export const STATUS_FIELDS: Readonly<JsonObject> = {
  conditions: {
    description: "Conditions of the resource.",
    type: "array",
    items: {
      type: "object",
      required: ["lastTransitionTime", "reason", "status", "type"],
      properties: {
        lastTransitionTime: TIME,
        message: TEXT,
        observedGeneration: { type: "integer", format: "int64" },
        reason: TEXT,
        status: TEXT,
        type: TEXT,
      },
    },
  },
  connectionDetails: { type: "object", properties: { lastPublishedTime: TIME } },
};

/** The columns of `kubectl get` for composite resources, after the author's columns. */
export const COMPOSITE_COLUMNS: readonly JsonObject[] = columns("COMPOSITION", ".spec.compositionRef.name");

/** The columns of `kubectl get` for claims, after the author's columns. */
export const CLAIM_COLUMNS: readonly JsonObject[] = columns(
  "CONNECTION-SECRET",
  ".spec.writeConnectionSecretToRef.name",
);

function columns(name: string, jsonPath: string): JsonObject[] {
  return [
    { name: "SYNCED", type: "string", jsonPath: ".status.conditions[?(@.type=='Synced')].status" },
    { name: "READY", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
    { name, type: "string", jsonPath },
    { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ];
}
