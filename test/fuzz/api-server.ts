import { compileSchema } from "@xfn/composition/schema";
import type { JsonObject, JsonValue } from "@xfn/json";

// Only the types that an API server enforces. The value of a field may be absurd, but a text is never a number.

const text: JsonObject = { type: "string" };
const flag: JsonObject = { type: "boolean" };
const integer: JsonObject = { type: "integer" };
const any: JsonObject = { "x-kubernetes-preserve-unknown-fields": true, nullable: true };
const anyObject: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

function object(properties: JsonObject): JsonObject {
  return { type: "object", properties };
}
function list(items: JsonObject): JsonObject {
  return { type: "array", items };
}
function map(additionalProperties: JsonObject): JsonObject {
  return { type: "object", additionalProperties };
}

const transform = object({
  type: text,
  map: map(any),
  match: object({
    patterns: list(object({ type: text, literal: text, regexp: text, result: any })),
    fallbackValue: any,
    fallbackTo: text,
  }),
  math: object({ type: text, multiply: integer, clampMin: integer, clampMax: integer }),
  string: object({
    type: text,
    fmt: text,
    convert: text,
    trim: text,
    regexp: object({ match: text, group: integer }),
    join: object({ separator: text }),
  }),
  convert: object({ toType: text, format: text }),
});
const patches = list(
  object({
    type: text,
    fromFieldPath: text,
    toFieldPath: text,
    patchSetName: text,
    combine: object({
      strategy: text,
      variables: list({ ...object({ fromFieldPath: text }), required: ["fromFieldPath"] }),
      string: object({ fmt: text }),
    }),
    transforms: list(transform),
    policy: object({ fromFieldPath: text, mergeOptions: object({ keepMapValues: flag, appendSlice: flag }) }),
  }),
);

const kubernetesObject: JsonObject = {
  ...anyObject,
  required: ["apiVersion", "kind", "metadata"],
  properties: {
    apiVersion: text,
    kind: text,
    metadata: object({
      name: text,
      generateName: text,
      namespace: text,
      uid: text,
      resourceVersion: text,
      labels: map(text),
      annotations: map(text),
      ownerReferences: list(anyObject),
    }),
  },
};

const schema = compileSchema({
  type: "object",
  required: ["xr", "resources"],
  properties: {
    xr: kubernetesObject,
    resources: list({ ...object({ name: text, base: anyObject, patches }), required: ["base"] }),
    patchSets: list(object({ name: text, patches })),
    environmentPatches: patches,
    environment: anyObject,
    observed: map(kubernetesObject),
  },
});

/** An XR and its templates as an API server stores them. Undefined if it rejects them. */
export function asServed(input: JsonValue): JsonObject | undefined {
  const defaulted = schema.default(input);
  if (schema.validate(defaulted).length > 0) return undefined;
  return defaulted as JsonObject;
}
