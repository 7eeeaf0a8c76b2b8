import { type JsonObject, type JsonValue, newObject, objectAt } from "@xfn/json";
import { isObject } from "../values/json.ts";
import { DEFINITION_FORMS } from "./definition.ts";

/** Options of {@link lowerDefinition}. */
export interface LowerOptions {
  /** Whether an InfrastructurePublication offers the composite resources to namespaces. */
  readonly isPublished?: boolean;
}

/** Whether a document is an InfrastructureDefinition or an ApplicationDefinition. */
export function isForm({ kind }: JsonObject): boolean {
  return DEFINITION_FORMS.some((form) => form === kind);
}

/**
 * Lowers a definition of any kind to the one model: the fields of a CompositeResourceDefinition, under the kind and the
 * metadata that its author wrote. A definition in that model already is returned as it is, and its spec need not be
 * checked.
 */
export function lowerDefinition(written: JsonObject, { isPublished = false }: LowerOptions = {}): JsonObject {
  const { spec } = written;
  if (!isForm(written) || !isObject(spec) || spec["crdSpecTemplate"] === undefined) return written;
  const isInfrastructure = written["kind"] === "InfrastructureDefinition";
  const template = objectAt(spec, "crdSpecTemplate");
  const author = objectAt(template, "validation")["openAPIV3Schema"];
  const names = template["names"] ?? newObject();
  const version: JsonObject = {
    name: template["version"] ?? "",
    served: true,
    referenceable: true,
    schema: {
      openAPIV3Schema: { type: "object", properties: { spec: withIntegers(author ?? { type: "object" }) } },
    },
  };
  const lowered: JsonObject = {
    group: template["group"] ?? "",
    names,
    scope: isInfrastructure ? "LegacyCluster" : "LegacyNamespaced",
    versions: [version],
    ...(isInfrastructure && { connectionSecretKeys: connectionKeysOf(spec) }),
    ...(isInfrastructure && isPublished && isObject(names) && { claimNames: requirementNames(names) }),
  };
  for (const field of ["defaultCompositionRef", "enforcedCompositionRef", "serviceAccountRef"])
    if (spec[field] !== undefined) lowered[field] = spec[field];
  return { ...written, spec: lowered };
}

/** The design has `connectionDetails` in its text, and `connectionSecret.keys` in a figure. */
function connectionKeysOf(spec: JsonObject): JsonValue {
  return spec["connectionDetails"] ?? objectAt(spec, "connectionSecret")["keys"] ?? [];
}

/** The names of requirements: those of the composite resource with the suffix Requirement. */
function requirementNames({ kind, singular }: JsonObject): JsonObject {
  const name = typeof kind === "string" ? kind : "";
  const title = `${name}Requirement`;
  const one = `${typeof singular === "string" && singular !== "" ? singular : name.toLowerCase()}requirement`;
  return { kind: title, listKind: `${title}List`, plural: `${one}s`, singular: one };
}

/** Keywords that have one schema, a list of schemas, or a map of schemas. */
const SCHEMA: ReadonlySet<string> = new Set(["items", "additionalProperties", "not"]);
const SCHEMAS: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf"]);

/** Reads the type `int`, which the design writes, as `integer`. */
function withIntegers(schema: JsonValue): JsonValue {
  if (!isObject(schema)) return schema;
  const result = newObject();
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "type" && value === "int") result[keyword] = "integer";
    else if (SCHEMA.has(keyword)) result[keyword] = withIntegers(value);
    else if (SCHEMAS.has(keyword) && Array.isArray(value)) result[keyword] = value.map(withIntegers);
    else if (keyword === "properties" && isObject(value)) {
      const properties = newObject();
      for (const [field, one] of Object.entries(value)) properties[field] = withIntegers(one);
      result[keyword] = properties;
    } else result[keyword] = value;
  }
  return result;
}

/** A type in an author's schema. */
export interface AuthorType {
  readonly path: readonly string[];
  readonly type: JsonValue;
}

/** The types of a schema and of the schemas of its properties and items, with their paths. */
export function authorTypes(schema: JsonValue | undefined, path: readonly string[] = []): AuthorType[] {
  if (!isObject(schema)) return [];
  const { type } = schema;
  return [
    ...(type === undefined ? [] : [{ path: [...path, "type"], type }]),
    ...Object.entries(objectAt(schema, "properties")).flatMap(([field, one]) =>
      authorTypes(one, [...path, "properties", field]),
    ),
    ...[...SCHEMA].flatMap((keyword) => authorTypes(schema[keyword], [...path, keyword])),
  ];
}
