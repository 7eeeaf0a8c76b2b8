import { COMPOSITION_API_VERSIONS, COMPOSITION_SPEC_OPEN_API } from "@xfn/composition";
import {
  claimCrd,
  compositeCrd,
  DEFINITION_API_VERSIONS,
  DEFINITION_FORMS,
  DEFINITION_KIND,
  DefinitionError,
  definitionSpecOpenApi,
  FORM_API_VERSION,
  formSpecOpenApi,
  PUBLICATION_KIND,
} from "@xfn/composition/definition";
import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { isDefinition } from "../validate/documents.ts";
import { crdVersions } from "../validate/schemas.ts";
import { jsonSchema } from "./json-schema.ts";

/** The JSON Schema of a kind. */
export interface KindSchema {
  readonly apiVersion: string;
  readonly kind: string;
  /** The schema of an object in a file. Absent if it is that of a base. */
  readonly complete?: JsonObject;
  /** The schema of a base, which patches complete. */
  readonly base: JsonObject;
}

/** The schemas of Compositions and definitions. */
export function compositionKinds(): KindSchema[] {
  const kinds: [string, string, JsonValue][] = [
    ...COMPOSITION_API_VERSIONS.map((version): [string, string, JsonValue] => [
      version,
      "Composition",
      COMPOSITION_SPEC_OPEN_API,
    ]),
    ...DEFINITION_API_VERSIONS.map((version): [string, string, JsonValue] => [
      version,
      DEFINITION_KIND,
      definitionSpecOpenApi(version),
    ]),
    ...[...DEFINITION_FORMS, PUBLICATION_KIND].map((kind): [string, string, JsonValue] => [
      FORM_API_VERSION,
      kind,
      formSpecOpenApi(kind as Parameters<typeof formSpecOpenApi>[0]),
    ]),
  ];
  return kinds.map(([apiVersion, kind, spec]) => kindSchema(apiVersion, kind, objectWith(spec), true));
}

/** The schemas of the kinds that definitions and CRDs define. The first of several schemas of a kind counts. */
export function definedKinds(documents: readonly ParsedDocument[]): KindSchema[] {
  const kinds = new Map<string, KindSchema>();
  for (const { value } of documents) {
    if (!isObject(value)) continue;
    const isComposite = isDefinition(value);
    for (const crd of isComposite ? crdsOf(value) : [value])
      for (const { apiVersion, kind, schema } of crdVersions(crd)) {
        const key = `${apiVersion}/${kind}`;
        if (!kinds.has(key)) kinds.set(key, kindSchema(apiVersion, kind, schema, isComposite));
      }
  }
  return [...kinds.values()];
}

function* crdsOf(definition: JsonObject): Iterable<JsonObject> {
  yield compositeCrd(definition);
  try {
    yield claimCrd(definition);
  } catch (error) {
    // A definition without claimNames has no claim.
    if (!(error instanceof DefinitionError)) throw error;
  }
}

function objectWith(spec: JsonValue): JsonObject {
  return { type: "object", required: ["spec"], properties: { spec, status: { type: "object" } } };
}

/** @param isWritten whether people write whole objects of the kind, as of a composite resource */
function kindSchema(apiVersion: string, kind: string, schema: JsonObject, isWritten: boolean): KindSchema {
  const base = jsonSchema(schema, false);
  return isWritten ? { apiVersion, kind, base, complete: jsonSchema(schema, true) } : { apiVersion, kind, base };
}
