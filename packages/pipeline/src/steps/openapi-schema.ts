import { isObject, type JsonObject, type JsonValue } from "@xfn/json";

const PREFIX = "#/components/schemas/";

/** Returns a replacement for a missing schema, or throws. */
type OnMissing = (reference: string) => JsonObject;

/**
 * Finds the schema of a kind in an OpenAPI v3 document, with its references replaced. A reference within its own target
 * becomes an object of any kind.
 *
 * @param schemas `components.schemas` of the document
 */
export function findSchema(
  schemas: JsonObject,
  selector: { readonly apiVersion: string; readonly kind: string },
  onMissing: OnMissing,
): JsonObject | undefined {
  const found = Object.values(schemas).find((schema) => isObject(schema) && isOf(schema, selector));
  return isObject(found) ? resolved(found, schemas, onMissing, new Set()) : undefined;
}

/** Schemas of several kinds, such as DeleteOptions, belong to none of them. */
function isOf(schema: JsonObject, { apiVersion, kind }: { apiVersion: string; kind: string }): boolean {
  const kinds = schema["x-kubernetes-group-version-kind"];
  const [only, ...others] = Array.isArray(kinds) ? kinds : [];
  if (!isObject(only) || others.length > 0) return false;
  const { group, version } = only;
  if (typeof group !== "string" || typeof version !== "string") return false;
  return only["kind"] === kind && (group === "" ? version : `${group}/${version}`) === apiVersion;
}

function resolved(
  schema: JsonObject,
  schemas: JsonObject,
  onMissing: OnMissing,
  within: ReadonlySet<string>,
): JsonObject {
  const reference = referenceOf(schema);
  if (reference === undefined) return withParts(schema, schemas, onMissing, within);
  if (within.has(reference)) return { type: "object" };
  const target = Object.hasOwn(schemas, reference) ? schemas[reference] : undefined;
  if (!isObject(target)) return onMissing(reference);
  return withParts(target, schemas, onMissing, new Set([...within, reference]));
}

/** The name that a schema refers to. A reference can be in allOf, next to a description. */
function referenceOf(schema: JsonObject): string | undefined {
  const { $ref, allOf } = schema;
  if (typeof $ref === "string") return $ref.startsWith(PREFIX) ? $ref.slice(PREFIX.length) : $ref;
  const parts = Array.isArray(allOf) ? allOf.filter(isObject) : [];
  return parts.map(referenceOf).find((reference) => reference !== undefined);
}

function withParts(
  schema: JsonObject,
  schemas: JsonObject,
  onMissing: OnMissing,
  within: ReadonlySet<string>,
): JsonObject {
  const part = (value: JsonValue | undefined): JsonValue | undefined =>
    isObject(value) ? resolved(value, schemas, onMissing, within) : value;
  const result: JsonObject = { ...schema };
  for (const field of ["additionalProperties", "items"]) {
    const value = part(schema[field]);
    if (value !== undefined) result[field] = value;
  }
  const { properties } = schema;
  if (isObject(properties)) {
    result["properties"] = Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [name, part(value) ?? null]),
    );
  }
  return result;
}
