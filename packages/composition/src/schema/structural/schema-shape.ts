import type { JsonPath, JsonValue } from "@xfn/functionio";
import { emptyObject, isObject, kindOf } from "../../values/json.ts";
import {
  anyFlag,
  anyText,
  type FieldShape,
  flag,
  integer,
  list,
  map,
  number,
  raw,
  type Shape,
  type ShapeReader,
  struct,
  text,
} from "./api-shape.ts";

// JSONSchemaProps, the type of a CRD's schemas:
// https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/#JSONSchemaProps

/** A schema in the form in which the API server keeps it. */
export const schemaProps: Shape = struct(() => FIELDS);

/** A schema or a boolean. */
const schemaOrFlag: Shape = (value, path, reader) =>
  typeof value === "boolean" ? value : schemaOr("a schema or a boolean", value, path, reader);

/** A schema or a list of them (which no structural schema may have; the check of those says so). */
const schemaOrList: Shape = (value, path, reader) =>
  Array.isArray(value) ? schemas(value, path, reader) : schemaOr("a schema", value, path, reader);

const schemaOrNames: Shape = (value, path, reader) =>
  Array.isArray(value) ? names(value, path, reader) : schemaOr("a schema or a list", value, path, reader);

const schemas: Shape = list(schemaProps, emptyObject);
const schemaMap: Shape = map(schemaProps, emptyObject);
const names: Shape = list(anyText, () => "");

const validationRule: Shape = struct(
  () =>
    new Map<string, FieldShape>([
      ["rule", { shape: anyText, absent: "" }],
      ["message", { shape: text }],
      ["messageExpression", { shape: text }],
      // Younger than Crossplane v1.13, whose types drop these three.
      ["reason", { shape: anyText }],
      ["fieldPath", { shape: text }],
      ["optionalOldSelf", { shape: anyFlag }],
    ]),
);

const externalDocs: Shape = struct(
  () =>
    new Map<string, FieldShape>([
      ["description", { shape: text }],
      ["url", { shape: text }],
    ]),
);

const FIELDS: ReadonlyMap<string, FieldShape> = new Map<string, FieldShape>(
  (
    [
      ["id", text],
      ["$schema", text],
      ["$ref", anyText],
      ["description", text],
      ["type", text],
      ["format", text],
      ["title", text],
      ["default", raw],
      ["maximum", number],
      ["exclusiveMaximum", flag],
      ["minimum", number],
      ["exclusiveMinimum", flag],
      ["maxLength", integer],
      ["minLength", integer],
      ["pattern", text],
      ["maxItems", integer],
      ["minItems", integer],
      ["uniqueItems", flag],
      ["multipleOf", number],
      ["enum", list(raw, () => null)],
      ["maxProperties", integer],
      ["minProperties", integer],
      ["required", names],
      ["items", schemaOrList],
      ["allOf", schemas],
      ["oneOf", schemas],
      ["anyOf", schemas],
      ["not", schemaProps],
      ["properties", schemaMap],
      ["additionalProperties", schemaOrFlag],
      ["patternProperties", schemaMap],
      ["dependencies", map(schemaOrNames, () => null)],
      ["additionalItems", schemaOrFlag],
      ["definitions", schemaMap],
      ["externalDocs", externalDocs],
      ["example", raw],
      ["nullable", flag],
      ["x-kubernetes-preserve-unknown-fields", anyFlag],
      ["x-kubernetes-embedded-resource", flag],
      ["x-kubernetes-int-or-string", flag],
      ["x-kubernetes-list-map-keys", names],
      ["x-kubernetes-list-type", anyText],
      ["x-kubernetes-map-type", anyText],
      ["x-kubernetes-validations", list(validationRule, () => ({ rule: "" }))],
    ] satisfies [string, Shape][]
  ).map(([field, shape]) => [field, { shape }]),
);

function schemaOr(expected: string, value: JsonValue, path: JsonPath, reader: ShapeReader): JsonValue | undefined {
  if (value === null || isObject(value)) return schemaProps(value, path, reader);
  reader.wrong(path, `expected ${expected}, found ${kindOf(value)}`);
  return undefined;
}
