import { type JsonPath, type JsonValue, newObject } from "@xfn/json";
import { isObject, kindOf } from "../../values/json.ts";
import {
  type ApiField,
  type ApiType,
  anyFlag,
  anyText,
  flag,
  integer,
  list,
  map,
  number,
  raw,
  struct,
  type TypeReport,
  text,
} from "./api-types.ts";

// JSONSchemaProps, the type of a CRD's schemas:
// https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/#JSONSchemaProps

/** A schema in the form of the API server. */
export const schemaProps: ApiType = struct(() => FIELDS);

/** A schema or a boolean. */
const schemaOrFlag: ApiType = (value, path, report) =>
  typeof value === "boolean" ? value : schemaOr("a schema or a boolean", value, path, report);

/** A schema or a list of schemas. The check for structural schemas rejects the list. */
const schemaOrList: ApiType = (value, path, report) =>
  Array.isArray(value) ? schemas(value, path, report) : schemaOr("a schema", value, path, report);

const schemaOrNames: ApiType = (value, path, report) =>
  Array.isArray(value) ? names(value, path, report) : schemaOr("a schema or a list", value, path, report);

const schemas: ApiType = list(schemaProps, newObject);
const schemaMap: ApiType = map(schemaProps, newObject);
const names: ApiType = list(anyText, () => "");

const validationRule: ApiType = struct(
  () =>
    new Map<string, ApiField>([
      ["rule", { type: anyText, absent: "" }],
      ["message", { type: text }],
      ["messageExpression", { type: text }],
      // Newer than Crossplane v1.13, whose types drop these three.
      ["reason", { type: anyText }],
      ["fieldPath", { type: text }],
      ["optionalOldSelf", { type: anyFlag }],
    ]),
);

const externalDocs: ApiType = struct(
  () =>
    new Map<string, ApiField>([
      ["description", { type: text }],
      ["url", { type: text }],
    ]),
);

const FIELDS: ReadonlyMap<string, ApiField> = new Map<string, ApiField>(
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
    ] satisfies [string, ApiType][]
  ).map(([field, type]) => [field, { type }]),
);

function schemaOr(expected: string, value: JsonValue, path: JsonPath, report: TypeReport): JsonValue | undefined {
  if (value === null || isObject(value)) return schemaProps(value, path, report);
  report.wrong(path, `expected ${expected}, found ${kindOf(value)}`);
  return undefined;
}
