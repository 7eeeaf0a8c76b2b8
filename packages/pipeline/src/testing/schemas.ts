import { compositeCrd } from "@xfn/composition/definition";
import { checkSchema, compileSchema, type Schema } from "@xfn/composition/schema";
import { isObject, type JsonObject, type JsonValue, objectAt } from "@xfn/json";
import type { KindSchemas } from "../settings/strict.ts";
import { readSource, type Source } from "./source.ts";
import { TestingError } from "./testing-error.ts";

/**
 * The schemas of a test, for steps with `schema: Strict`: those of CRDs, and of the XRs of definitions. The first one
 * of a kind counts.
 *
 * @throws {TestingError} `InvalidInput` for a document that is neither
 * @throws {SchemaError} if a schema is invalid
 * @throws {DefinitionError} if a definition is invalid
 */
export function schemasOf(source: Source | readonly Source[]): KindSchemas {
  const kinds = new Map<string, Schema>();
  for (const { value, source: name = "schemas" } of readSource(source, "schemas")) {
    for (const [key, schema] of versionsOf(crdOf(value, name), name)) {
      checkSchema(schema);
      if (!kinds.has(key)) kinds.set(key, compileSchema(schema));
    }
  }
  return { of: (apiVersion, kind) => kinds.get(keyOf(apiVersion, kind)) };
}

function keyOf(apiVersion: string, kind: string): string {
  return `${apiVersion} ${kind}`;
}

function crdOf(value: JsonValue, name: string): JsonObject {
  const kind = isObject(value) ? value["kind"] : undefined;
  if (isObject(value) && kind === "CustomResourceDefinition") return value;
  if (isObject(value) && kind === "CompositeResourceDefinition") return compositeCrd(value);
  const found = typeof kind === "string" ? `a ${kind}` : "a document without a kind";
  throw invalid(`${name} holds ${found}; schemas are CustomResourceDefinitions and CompositeResourceDefinitions`);
}

/** The schemas of a CRD's versions. */
function versionsOf(crd: JsonObject, source: string): [key: string, schema: JsonObject][] {
  const spec = objectAt(crd, "spec");
  const { group, versions } = spec;
  const { kind } = objectAt(spec, "names");
  if (typeof group !== "string" || typeof kind !== "string" || !Array.isArray(versions))
    throw invalid(`${source} holds a CustomResourceDefinition without spec.group, spec.names.kind or spec.versions`);
  return versions.filter(isObject).flatMap((version): [string, JsonObject][] => {
    const schema = objectAt(version, "schema")["openAPIV3Schema"];
    const { name } = version;
    return isObject(schema) && typeof name === "string" ? [[keyOf(`${group}/${name}`, kind), schema]] : [];
  });
}

function invalid(message: string): TestingError {
  return new TestingError("InvalidInput", message);
}
